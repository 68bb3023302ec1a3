"""Cases of cancelling and pausing, told as a whole: CTRL-1 to CTRL-5."""

from collections.abc import Callable
from typing import Any

import pytest

from runs import errors, transitions
from runs.models import ActiveInterval, Effect, Event, NodeAttempt, Project, WorkflowMessage
from runs.rules_crashes import CRASH_LIMIT
from runs.states import EffectOutcome, ErrorCode, MessageKind
from runs.transitions import AttemptStart, Claimant, Completion, EffectReservation, MessageDraft, Note
from tests.builders import (
    LEASE_MS,
    OPERATOR,
    START,
    FrozenClock,
    Made,
    RunBuilder,
    digest_of,
    snapshot_of_everything,
    write,
)
from tests.queue.losing import RUNNER, lost, taken
from tests.queue.people_cast import PeopleBuilder

Make = Callable[[RunBuilder, FrozenClock], Made]


def under_way(make: RunBuilder) -> Made:
    """Running, with an attempt, an interval, a pending and an applying effect and an unsent message."""
    made = make.running()
    transitions.start_attempt(make.project, made.hold, AttemptStart("a", "node"))
    for key in ("pending", "applying"):
        effect, _ = transitions.reserve_effect(make.project, made.hold, EffectReservation("mail", key))
    transitions.start_effect(make.project, made.hold, effect.effect_id)
    transitions.queue_message(make.project, made.hold, MessageDraft("m", "a session", MessageKind.STEP, "Hello."))
    return made


def resting(make: RunBuilder, clock: FrozenClock) -> Made:
    made = make.queued()
    write(made, available_at=START.replace(year=2030))
    return made


def in_doubt(make: RunBuilder, clock: FrozenClock) -> Made:
    made = under_way(make)
    transitions.park_ambiguous_effect(make.project, made.hold)
    return made


def paused(state: str) -> Make:
    def build(make: RunBuilder, clock: FrozenClock) -> Made:
        made: Made = getattr(make, state)()
        transitions.pause(make.project, made.run_id, OPERATOR)
        return made

    return build


def crash_looping(make: RunBuilder, clock: FrozenClock) -> Made:
    return lost(make, make.queued(), clock, times=CRASH_LIMIT)


def left_by_a_dead_runner(make: RunBuilder, clock: FrozenClock) -> Made:
    made = under_way(make)
    clock.advance(LEASE_MS)
    return made


def waiting_for_a_session(make: RunBuilder, clock: FrozenClock) -> Made:
    return PeopleBuilder(make).submitted().made


def waiting_for_people(make: RunBuilder, clock: FrozenClock) -> Made:
    return PeopleBuilder(make).undecided().made


UNFINISHED: dict[str, Make] = {
    "queued": lambda make, clock: make.queued(),
    "queued for later": resting,
    "starting": lambda make, clock: make.starting(),
    "running": lambda make, clock: under_way(make),
    "leased to a dead runner": left_by_a_dead_runner,
    "parked": lambda make, clock: make.parked(),
    "parked for an effect in doubt": in_doubt,
    "paused while queued": paused("queued"),
    "paused while parked": paused("parked"),
    "paused while running": paused("running"),
    "waiting for a session": waiting_for_a_session,
    "waiting for people": waiting_for_people,
    "crash-looping": crash_looping,
    "of a workflow that nobody serves": lambda make, clock: make.queued(workflow_name="forgotten"),
}


@pytest.mark.parametrize("state", UNFINISHED)
def test_cancel_works_from_every_unfinished_state(
    project: Project, make: RunBuilder, clock: FrozenClock, state: str
) -> None:
    """CTRL-3. That nothing stays open is what the end of every test asks."""
    made = UNFINISHED[state](make, clock)
    session = made.run.origin_session_id
    revision = made.run.revision

    transitions.cancel(project, made.run_id, OPERATOR)

    assert (made.axes, made.run.error_code) == (("cancelled", "cancelled"), ErrorCode.CANCELLED)
    assert made.run.revision == revision + 1
    assert not NodeAttempt.objects.filter(run=made.key, status__in=["running", "waiting"]).exists()
    assert not ActiveInterval.objects.filter(attempt__run=made.key, ended_at=None).exists()
    assert not WorkflowMessage.objects.filter(run=made.key, status="pending").exists()
    assert not Effect.objects.filter(run=made.key, status__in=["pending", "applying"]).exists()
    assert make.queued(origin_session_id=session).axes == ("queued", "queued")
    clock.advance(100 * LEASE_MS)
    assert made.run_id not in [
        run.run_id for run in transitions.claim_next(project, RUNNER, [f"token {n}" for n in range(5)])
    ]


def test_an_effect_that_was_being_applied_stays_visible_until_it_is_settled(project: Project, make: RunBuilder) -> None:
    """CTRL-3, the effect."""
    made = under_way(make)
    transitions.cancel(project, made.run_id, OPERATOR)
    in_doubt = Effect.objects.in_doubt().get(run=made.key)

    transitions.settle_ambiguous_effect(
        project, made.run_id, in_doubt.effect_id, EffectOutcome.APPLIED, OPERATOR, "It is there."
    )

    assert not Effect.objects.in_doubt().exists()
    assert made.axes == ("cancelled", "cancelled")


def test_a_cancel_wins_over_a_later_completion(project: Project, make: RunBuilder) -> None:
    """CTRL-1, first round."""
    made = make.running()
    transitions.cancel(project, made.run_id, OPERATOR)
    before = snapshot_of_everything()
    calls: list[Callable[[], Any]] = [
        lambda: transitions.record_event(project, Note(made.run_id, "progress", token=made.token), OPERATOR),
        lambda: transitions.reserve_effect(project, made.hold, EffectReservation("mail", "1")),
        lambda: transitions.complete(project, Completion(made.run_id, made.token, 1)),
        lambda: transitions.renew(project, made.hold, LEASE_MS),
    ]

    for call in calls:
        with pytest.raises(errors.RunCancelled) as refused:
            call()
        assert refused.value.action == errors.Action.STOP

    assert snapshot_of_everything() == before


def test_a_completion_wins_over_a_later_cancel(project: Project, make: RunBuilder) -> None:
    """CTRL-1, second round."""
    made = make.completed()
    before = snapshot_of_everything()

    with pytest.raises(errors.RunFinished) as refused:
        transitions.cancel(project, made.run_id, OPERATOR)

    assert refused.value.facts["status"] == "completed"
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("state", ["completed", "failed", "timed_out", "cancelled"])
def test_cancelling_what_is_over_changes_nothing_and_names_the_end(
    project: Project, make: RunBuilder, state: str
) -> None:
    """CTRL-2."""
    made: Made = getattr(make, state)()
    before = snapshot_of_everything()

    for _ in range(2):
        with pytest.raises((errors.RunFinished, errors.RunCancelled)) as refused:
            transitions.cancel(project, made.run_id, OPERATOR)
        assert refused.value.facts["status"] == state

    assert snapshot_of_everything() == before


def test_a_run_resumed_right_after_its_pause_is_anybodys(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    """CTRL-4, with the old holder still sending."""
    made = make.running(lease_ms=60_000)

    transitions.pause(project, made.run_id, OPERATOR)
    with pytest.raises(errors.RunPaused):
        transitions.renew(project, made.hold, LEASE_MS)
    clock.advance(1_000)
    transitions.unpause(project, made.run_id, OPERATOR)
    with pytest.raises(errors.LeaseLost):
        transitions.complete(project, Completion(made.run_id, made.token))

    (run,) = transitions.claim_next(project, Claimant("host-b", LEASE_MS), ["b's token"])
    assert (run.run_id, run.lease.generation) == (made.run_id, 2)
    with pytest.raises(errors.LeaseLost) as refused:
        transitions.renew(project, made.hold, LEASE_MS)
    assert refused.value.facts["cause"] == "superseded"


def test_pausing_all_of_a_project_loses_nothing(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    """CTRL-5."""
    queued = [make.queued() for _ in range(5)]
    running = [make.running() for _ in range(2)]
    parked, waiting = make.parked(), PeopleBuilder(make).waiting().made
    all_of_them = [*queued, *running, parked, waiting]
    ids = [made.run_id for made in all_of_them]

    transitions.pause_all(project, ids, OPERATOR)

    assert {(made.run.queue_status, made.run.paused) for made in all_of_them} == {("parked", True)}
    later = [make.queued() for _ in range(2)]
    tokens = [f"token {n}" for n in range(20)]
    claimed = [run.run_id for run in transitions.claim_next(project, RUNNER, tokens)]
    assert claimed == [made.run_id for made in later]

    clock.advance(1_000)
    transitions.unpause_all(project, ids, OPERATOR)

    assert not any(made.run.paused or made.run.parked_by_pause for made in all_of_them)
    claimed = [run.run_id for run in transitions.claim_next(project, RUNNER, [f"again {n}" for n in range(20)])]
    assert claimed == [made.run_id for made in (*queued, *running, parked)]
    assert waiting.axes == ("waiting", "parked")


def test_every_pause_takes_effect_or_is_refused(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    """CTRL-5, its second part: no run is about to be paused for ever."""
    obeyed, ignored, finished = make.running(), make.running(), make.running()
    for made in (obeyed, ignored, finished):
        transitions.request_pause(project, made.run_id, 10_000, OPERATOR)

    transitions.park(project, obeyed.hold)
    transitions.complete(project, Completion(finished.run_id, finished.token))
    clock.advance(10_000)
    transitions.sweep()

    assert [made.run.display_status for made in (obeyed, ignored, finished)] == ["paused", "paused", "completed"]
    assert not any(made.lease.wish for made in (obeyed, ignored, finished))


def test_one_end_is_one_event(project: Project, make: RunBuilder) -> None:
    """CTRL-2, the event."""
    made = under_way(make)
    transitions.cancel(project, made.run_id, OPERATOR)
    with pytest.raises(errors.RunCancelled):
        transitions.cancel(project, made.run_id, OPERATOR)

    assert Event.objects.filter(run=made.key, type="run.queue_cancelled").count() == 1


def test_a_crash_looping_run_of_a_definition_that_fails_is_over(make: RunBuilder, clock: FrozenClock) -> None:
    """CTRL-3, what is over is not cancelled."""
    made = make.running(definition_digest=digest_of("fail"), definition_snapshot={"lostRunner": "fail"})
    clock.advance(LEASE_MS)
    assert taken(made) == []

    with pytest.raises(errors.RunFinished):
        transitions.cancel(make.project, made.run_id, OPERATOR)
