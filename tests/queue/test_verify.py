"""The proof of the invariants: silent over a sound database, and naming the run wherever one of them is broken."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from runs import transitions, verify
from runs.models import (
    ActiveInterval,
    Blob,
    DecisionResolution,
    Effect,
    EffectAttempt,
    Event,
    HumanDecision,
    InteractiveRequest,
    Lease,
    NodeAttempt,
    Project,
    Run,
    WorkflowMessage,
)
from runs.models.lease import OWNER_FIELDS
from runs.states import AttemptStatus, ErrorCode, MessageKind, RunStatus
from runs.transitions import AttemptStart, Completion, EffectReservation, MessageDraft
from tests.builders import OPERATOR, START, FrozenClock, Made, RunBuilder, snapshot_of_everything, write, write_lease
from tests.queue.losing import RUNNER
from tests.queue.people_cast import PeopleBuilder

UNFINISHED = ("queued", "starting", "running", "expired", "parked", "paused", "waiting")
FINISHED = ("completed", "failed", "timed_out", "cancelled")


@pytest.fixture(autouse=True)
def sound() -> None:
    """What these tests leave behind is broken on purpose."""


@pytest.fixture
def made(make: RunBuilder) -> Made:
    """A running run with a bit of everything: attempts, an effect, a decision that was made, a message."""
    made = make.running()
    transitions.start_attempt(make.project, made.hold, AttemptStart("a", "node"))
    transitions.complete_attempt(make.project, made.hold, "a", {"x": 1})
    effect, _ = transitions.reserve_effect(make.project, made.hold, EffectReservation("mail", "1"))
    transitions.start_effect(make.project, made.hold, effect.effect_id)
    transitions.queue_message(make.project, made.hold, MessageDraft("m", "a session", MessageKind.STEP, "Hello."))
    transitions.start_attempt(make.project, made.hold, AttemptStart("b", "another node"))
    return made


def found(**options: Any) -> list[tuple[str, str | None]]:
    """What the proof finds: broken rules with the run's id. Viewers, whom nobody told, are another file's subject."""
    broken = [(violation.rule, violation.run_id) for violation in verify.violations(**options)]
    return [each for each in broken if each[0] != "view"]


def ended(make: RunBuilder) -> Made:
    """A failed run on which something of every kind hung."""
    people = PeopleBuilder(make)
    asked = people.raised(people.make.running())
    asked.submit()
    made = asked.made
    transitions.fail(make.project, transitions.Failure(made.run_id, "broken", "It broke.", made.token))
    return made


def test_in_a_sound_database_there_is_nothing_to_find(make: RunBuilder, made: Made, clock: FrozenClock) -> None:
    for state in (*UNFINISHED, *FINISHED):
        if state != "timed_out":
            getattr(make, state)()
    people = PeopleBuilder(make)
    people.settled()
    people.undecided().answer()
    ended(make)
    parent = make.failed()
    make.queued(
        parent_run_id=parent.run_id,
        lineage_kind="restart",
        parent_run_revision=parent.run.revision,
        origin_session_id=parent.run.origin_session_id,
    )
    clock.advance(60_000)
    transitions.sweep()
    transitions.claim_next(make.project, RUNNER, ["1", "2", "3"])

    assert found() == []


def test_it_changes_nothing(make: RunBuilder, made: Made) -> None:
    write_lease(made, open_work=7)
    before = snapshot_of_everything()

    assert found() == [("derived", made.run_id)]
    assert snapshot_of_everything() == before


def update_event(made: Made, place: int = -1, **columns: Any) -> None:
    Event.objects.filter(pk=made.events[place].pk).update(**columns)


def run(made: Made) -> Any:
    return Run.objects.filter(pk=made.key)


def effects(made: Made) -> Any:
    return Effect.objects.filter(run=made.key)


# By the broken rule and in a few words: what breaks it.
BREACHES: dict[str, Callable[[Made], object]] = {
    "revision: a hole": lambda made: update_event(made, revision=F("revision") + 1),
    "revision: a row ahead of its events": lambda made: run(made).update(revision=F("revision") + 1),
    "revision: an effect behind its events": lambda made: effects(made).update(revision=1),
    "revision: events of an effect that is gone": lambda made: update_event(made, kind="effect", key="x", revision=1),
    "chain: an event that was changed": lambda made: update_event(made, 2, payload='{"forged":true}'),
    "chain: an event that was taken out": lambda made: Event.objects.filter(pk=made.events[3].pk).delete(),
    "chain: an actor who was somebody else": lambda made: update_event(made, 1, actor_id="host-b"),
    "time: an event before its predecessor": lambda made: update_event(made, at=START - timedelta(seconds=1)),
    "head: a head that is no event": lambda made: run(made).update(head_digest=bytes(32)),
    "end: a run that ended without an event": lambda made: run(made).update(
        status="failed", queue_status="failed", finished_at=START, queue_finished_at=START
    ),
    "end: an end of a run that goes on": lambda made: update_event(made, type="run.queue_done"),
    "generation: a fence that fell": lambda made: write_lease(made, generation=0),
    "axes: a run that is over and a queue that is not": lambda made: run(made).update(
        status="failed", finished_at=START
    ),
    "axes: a queued run that runs": lambda made: run(made).update(status="queued"),
    "paused: on the queue": lambda made: write(made, paused=True, queue_status="queued"),
    "paused: parked by a pause that is none": lambda made: run(made).update(parked_by_pause=True),
    "owner: filed under another priority": lambda made: write_lease(made, priority=0),
    "owner: renewed before it was acquired": lambda made: write_lease(made, heartbeat_at=START - timedelta(seconds=1)),
    "owner: a takeover at another time": lambda made: write_lease(made, takeover_at=START),
    "owner: a wish over nobody": lambda made: write_lease(
        made, wish="pause", wish_due_at=START, **dict.fromkeys(OWNER_FIELDS), takeover_at=None
    ),
    "derived: ready too early": lambda made: write_lease(made, ready_at=START - timedelta(days=1)),
    "derived: ready though held back": lambda made: run(made).update(error_code=ErrorCode.RUNNER_NO_PROGRESS),
    "derived: open work that nobody counted": lambda made: write_lease(made, open_work=0),
    "derived: a request that nobody has": lambda made: write_lease(made, pending_requests=1),
    "attempt: over without a time": lambda made: NodeAttempt.objects.filter(attempt_id="a").update(finished_at=None),
    "attempt: of a generation to come": lambda made: NodeAttempt.objects.filter(attempt_id="b").update(generation=9),
    "interval: open though its attempt is over": lambda made: ActiveInterval.objects.filter(
        attempt__attempt_id="a"
    ).update(ended_at=None),
    "effect: a try that was lost": lambda made: effects(made).update(attempt_count=2),
    "effect: applying without a try": lambda made: EffectAttempt.objects.update(finished_at=START),
    "effect: pending with an open try": lambda made: effects(made).update(status="pending"),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_found_and_names_its_run(make: RunBuilder, made: Made, breach: str) -> None:
    make.completed()
    assert found() == []

    BREACHES[breach](made)

    broken = found()
    assert (breach.split(":")[0], made.run_id) in broken
    assert {run_id for _, run_id in broken} == {made.run_id}


# What is open although the run is over.
LEFT_OPEN: dict[str, Callable[[], object]] = {
    "an owner": lambda: Lease.objects.update(
        owner_type="host",
        owner_id="host-z",
        token_hash=bytes(32),
        acquired_at=START,
        heartbeat_at=START,
        expires_at=START,
        takeover_at=START,
    ),
    "a pause": lambda: Run.objects.update(paused=True),
    "a rest": lambda: Lease.objects.update(retry_at=START),
    "an attempt": lambda: NodeAttempt.objects.update(status=AttemptStatus.RUNNING, finished_at=None),
    "an interval": lambda: ActiveInterval.objects.update(ended_at=None),
    "a request": lambda: InteractiveRequest.objects.update(status="pending"),
    "a submission": lambda: InteractiveRequest.objects.get().submissions.update(outcome="validating"),
}


@pytest.mark.parametrize("left", LEFT_OPEN)
def test_whatever_is_open_though_its_run_is_over_is_found(make: RunBuilder, left: str) -> None:
    made = ended(make)
    assert found() == []

    LEFT_OPEN[left]()

    assert ("over", made.run_id) in found()


def test_an_effect_that_is_open_though_its_run_is_over_is_found(make: RunBuilder, made: Made) -> None:
    transitions.cancel(make.project, made.run_id, OPERATOR)

    effects(made).update(status="applying", settled_at=None)
    WorkflowMessage.objects.update(status="pending")

    details = [violation.detail for violation in verify.violations() if violation.rule == "over"]
    assert len(details) == 2
    assert any("its effect" in detail for detail in details)
    assert any("its message m pending" in detail for detail in details)


def test_a_decision_and_its_resolution_must_agree(make: RunBuilder) -> None:
    decided = PeopleBuilder(make).undecided()
    decided.answer()
    HumanDecision.objects.update(resolved_at=START + timedelta(seconds=1))
    at_another_time = found()
    HumanDecision.objects.update(resolved_at=START)
    DecisionResolution.objects.all().delete()

    assert at_another_time == [("decision", decided.made.run_id)]
    assert ("decision", decided.made.run_id) in found()


def test_a_request_and_its_submissions_must_agree(make: RunBuilder) -> None:
    asked = PeopleBuilder(make).settled()

    asked.request.submissions.update(outcome="validating")

    assert found() == [("request", asked.made.run_id)]


def test_two_winners_of_one_node_are_found(make: RunBuilder, made: Made) -> None:
    with connection.cursor() as cursor:
        # The database itself stands in the way of this one.
        cursor.execute("DROP INDEX attempt_completed_once")
    NodeAttempt.objects.update(
        status=AttemptStatus.COMPLETED, finished_at=START, node_id="node", attempt_number=F("pk")
    )
    ActiveInterval.objects.update(ended_at=START)

    assert found() == [("winner", made.run_id)]


@pytest.mark.parametrize(
    "columns",
    [
        {"restart_number": 2},
        {"parent_run_revision": 99},
        {"origin_session_id": "another"},
        {"root_id": F("id")},
    ],
    ids=lambda columns: next(iter(columns)),
)
def test_a_restart_must_lead_back_to_its_parent(make: RunBuilder, columns: dict[str, Any]) -> None:
    parent = make.failed()
    restart = make.queued(
        parent_run_id=parent.run_id,
        lineage_kind="restart",
        parent_run_revision=parent.run.revision,
        origin_session_id=parent.run.origin_session_id,
    )

    Run.objects.filter(pk=restart.key).update(**columns)

    assert found() == [("lineage", restart.run_id)]


def test_a_restart_of_a_run_that_goes_on_is_found(make: RunBuilder) -> None:
    parent = make.failed()
    restart = make.queued(
        parent_run_id=parent.run_id,
        lineage_kind="restart",
        parent_run_revision=parent.run.revision,
        origin_session_id=parent.run.origin_session_id,
    )

    Run.objects.filter(pk=parent.key).update(status=RunStatus.RUNNING, finished_at=None, execution_mode="headless")

    assert ("lineage", restart.run_id) in found()


def test_a_blob_that_is_not_what_its_digest_says_names_the_runs_that_use_it(make: RunBuilder) -> None:
    first = make.queued(input={"x": 1})
    second = make.queued(input={"x": 1})
    make.queued(input={"x": 2})

    Blob.objects.filter(pk=first.run.input_id).update(content=b'{"x":9}')

    assert found() == [("blob", first.run_id), ("blob", second.run_id)]


def test_only_the_asked_for_project_is_looked_at(make: RunBuilder, other_project: Project) -> None:
    mine, theirs = make.queued(), RunBuilder(other_project).queued()
    for each in (mine, theirs):
        write_lease(each, open_work=7)

    assert found(project=other_project) == [("derived", theirs.run_id)]


def test_runs_are_looked_at_in_bounded_batches(make: RunBuilder) -> None:
    broken = [make.queued() for _ in range(5)]
    for each in broken:
        write_lease(each, open_work=7)
    checked = verify.Checked()

    in_twos = found(limit=2, checked=checked)

    assert in_twos == found() == [("derived", each.run_id) for each in broken]
    assert (checked.runs, checked.blobs) == (5, Blob.objects.count())


def test_a_batch_costs_the_same_number_of_statements_whatever_it_holds(make: RunBuilder) -> None:
    counts = []
    for size in (2, 16):
        transitions.reserve_all(make.project, [make.reservation() for _ in range(size)])
        transitions.claim_next(make.project, RUNNER, [f"{size} {n}" for n in range(size)])
        with CaptureQueriesContext(connection) as captured:
            list(verify.violations())
        counts.append(len(captured))

    assert counts[0] == counts[1]


def test_long_journals_are_read_in_pages(make: RunBuilder, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    make.completed()
    monkeypatch.setattr("runs.verify.journal.ROWS_AT_ONCE", 2)

    assert found() == []
    update_event(made, 4, type="forged")
    assert found() == [("chain", made.run_id)]


def test_the_command_says_that_all_is_well(make: RunBuilder, made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    make.completed()

    call_command("verify")

    assert capsys.readouterr().out == f"No violations in 2 runs and {Blob.objects.count()} blobs.\n"


def test_the_command_prints_a_line_for_each_violation_and_fails(
    make: RunBuilder, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lease(made, open_work=7)
    make.completed()

    with pytest.raises(CommandError) as failed:
        call_command("verify", "--project", "project")

    assert str(failed.value) == "2 violations in 2 runs (derived 1, view 1)."
    derived, view = capsys.readouterr().out.splitlines()
    assert derived == f"derived: project {made.run_id}: its lease counts 7 open pieces of work of 1"
    assert view == f"view: project {made.run_id}: what its events told viewers is not what stands at /summary/open_work"


def test_the_command_knows_its_projects(project: Project) -> None:
    with pytest.raises(CommandError):
        call_command("verify", "--project", "nobody's")


def test_completed_runs_with_outputs_are_sound(make: RunBuilder, made: Made) -> None:
    (effect,) = made.run.effects.all()
    transitions.apply_effect(make.project, made.hold, effect.effect_id, 1, {"sent": True})
    transitions.complete(make.project, Completion(made.run_id, made.token, {"done": True}))

    assert found() == []


@pytest.mark.django_db(transaction=True)
def test_a_batch_is_read_as_at_one_moment_and_read_only(make: RunBuilder, made: Made) -> None:
    assert found() == []
    # Nothing is left open behind it.
    assert not connection.in_atomic_block
    make.completed()
