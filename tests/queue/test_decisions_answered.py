"""Answers to decisions: whose count, until when, and that there is one resolution."""

from typing import Any

import pytest

from runs import canonical, errors, rules_decisions, transitions
from runs.models import DecisionResolution, DecisionSubmission
from runs.states import ErrorCode
from runs.transitions import AttemptStart, Completion
from tests.builders import OPERATOR, FrozenClock, RunBuilder, snapshot_of_everything
from tests.queue.people_cast import ANN, BOB, CAT, Decided, PeopleBuilder, ask, intervals, within


def response(decided: Decided) -> Any:
    blob = decided.decision.resolution.response
    return None if blob is None else canonical.loads(bytes(blob.content))


@pytest.fixture
def people(make: RunBuilder) -> PeopleBuilder:
    return PeopleBuilder(make)


def test_an_answer_resolves_the_decision_and_the_run_is_handed_out_at_once(
    people: PeopleBuilder, clock: FrozenClock
) -> None:
    decided = people.undecided()
    clock.advance(1_000)

    answered = decided.answer("yes", ANN, reason="They are old.", channel="console")

    resolution = decided.decision.resolution
    assert (resolution.outcome, resolution.provenance, resolution.actor_id) == ("accepted", "human", "ann")
    assert (resolution.channel, resolution.reason, resolution.resolved_at) == ("console", "They are old.", clock.at)
    assert (response(decided), answered.is_late) == ({"choice": "yes", "input": None}, False)
    assert decided.events == ["decision.asked", "decision.answered", "decision.resolved"]
    run, event = decided.made.run, decided.made.events[-1]
    assert (run.status, run.queue_status, run.lease.ready_at) == ("waiting", "queued", clock.at)
    assert (event.type, event.actor_type, event.actor_id) == ("run.resume_requested", "human", "ann")
    made = people.next_holder(decided.made)
    assert made is not None
    transitions.mark_running(made.project, made.hold)
    assert made.axes == ("running", "running")
    decision, is_new = transitions.ask_decision(made.project, made.hold, ask())
    assert (is_new, decision.resolution.actor_id) == (False, "ann")


def test_a_holder_that_waits_itself_keeps_the_run(people: PeopleBuilder) -> None:
    decided = people.asked()

    decided.answer("yes")

    assert decided.made.axes == ("waiting", "running")
    transitions.mark_running(decided.project, decided.made.hold)
    transitions.complete(decided.project, Completion(decided.made.run_id, decided.made.token))


def test_too_late_is_too_late_even_before_the_sweep(people: PeopleBuilder, clock: FrozenClock) -> None:
    """HUMAN-1: the deadline counts, not the sweep; the default is recorded once, as policy."""
    early, late = (people.undecided(deadline_at=within(clock, 60), default_response={"choice": "no"}) for _ in range(2))
    clock.advance(58_000)
    assert transitions.expire_decisions() == 0

    clock.advance(1_900)
    assert not early.answer("yes").is_late
    clock.advance(5_100)
    answered = late.answer("yes")

    assert answered.is_late
    assert answered.resolution is not None
    assert (answered.resolution.outcome, answered.resolution.provenance) == ("accepted", "policy")
    assert (response(late), answered.resolution.actor_id) == ({"choice": "no", "input": None}, None)
    assert late.events == ["decision.asked", "decision.resolved", "decision.answered_late"]
    assert late.made.events[-1].actor_type == "policy"
    assert late.made.axes == ("waiting", "queued")
    clock.advance(3_000)
    assert transitions.expire_decisions() == 0
    before = snapshot_of_everything()
    assert late.answer("yes").submission == answered.submission
    assert snapshot_of_everything() == before
    clock.advance(2_000)
    assert late.answer("no").is_late
    assert DecisionResolution.objects.filter(decision=late.decision).count() == 1
    assert response(early) == {"choice": "yes", "input": None}


def test_at_the_deadline_itself_it_is_late(people: PeopleBuilder, clock: FrozenClock) -> None:
    decided = people.undecided(deadline_at=within(clock, 60))
    clock.advance(60_000)

    answered = decided.answer("yes")

    assert answered.is_late
    assert decided.decision.resolution.outcome == "expired"


def test_a_late_answer_is_recorded_and_moves_nothing_else(people: PeopleBuilder) -> None:
    decided = people.undecided()
    decided.answer("yes", ANN)
    transitions.cancel(decided.project, decided.made.run_id, OPERATOR)
    revision = decided.made.run.revision

    answered = decided.answer("no", BOB, request_digest="0" * 64)

    assert (answered.is_late, answered.submission.request_revision) == (True, None)
    assert answered.resolution is not None
    assert answered.resolution.actor_id == "ann"
    assert (decided.made.run.revision, decided.made.run.status) == (revision, "cancelled")


def test_the_same_answer_again_is_given_back(people: PeopleBuilder) -> None:
    decided = people.undecided()
    first = decided.answer("yes")
    before = snapshot_of_everything()

    again = decided.answer("yes")

    assert (again.submission, again.made, again.is_late) == (first.submission, False, False)
    assert snapshot_of_everything() == before


def test_a_quorum_is_so_many_people_who_answer_the_same(people: PeopleBuilder) -> None:
    decided = people.undecided(quorum=2)

    assert decided.answer("yes", ANN).resolution is None
    with pytest.raises(errors.AlreadyAnswered) as refused:
        decided.answer("no", ANN)
    assert decided.answer("no", BOB).resolution is None
    assert decided.made.axes == ("waiting", "parked")
    resolved = decided.answer("yes", CAT)

    assert refused.value.facts["choice"] == "yes"
    assert resolved.resolution is not None
    assert (resolved.resolution.actor_id, response(decided)["choice"]) == ("cat", "yes")


def test_only_the_audience_answers(people: PeopleBuilder) -> None:
    by_name, by_group = people.undecided(users=["cat"]), people.undecided(groups=["auditors", "others"])
    before = snapshot_of_everything()

    with pytest.raises(errors.NotInAudience):
        by_name.answer("yes", ANN)
    with pytest.raises(errors.NotInAudience):
        by_group.answer("yes", ANN)

    assert snapshot_of_everything() == before
    assert by_name.answer("yes", CAT).resolution
    assert by_group.answer("yes", BOB).resolution


@pytest.mark.parametrize("spelling", ["ann", "Ann"])
def test_nobody_decides_on_a_request_of_their_own_where_that_is_forbidden(people: PeopleBuilder, spelling: str) -> None:
    decided = people.undecided(requested_by=spelling, forbid_requester=True)
    allowed = people.undecided(requested_by="ann")

    with pytest.raises(errors.OwnRequest):
        decided.answer("yes", ANN)

    assert decided.answer("yes", BOB).resolution
    assert allowed.answer("yes", ANN).resolution


def test_a_paused_run_is_handed_out_after_the_pause(people: PeopleBuilder) -> None:
    decided = people.undecided()
    transitions.pause(decided.project, decided.made.run_id, OPERATOR)

    decided.answer("yes")

    assert people.next_holder(decided.made) is None
    transitions.unpause(decided.project, decided.made.run_id, OPERATOR)
    assert people.next_holder(decided.made) is not None


def test_what_held_the_run_back_is_not_an_answers_to_lift(people: PeopleBuilder) -> None:
    decided = people.asked()
    transitions.park_no_progress(decided.project, decided.made.hold, "It goes round in circles.")

    decided.answer("yes")

    assert (decided.made.axes, decided.made.run.error_code) == (("waiting", "parked"), ErrorCode.RUNNER_NO_PROGRESS)


def test_a_run_that_asked_twice_waits_for_both(people: PeopleBuilder) -> None:
    decided = people.asked()
    decided.answer("yes")
    transitions.mark_running(decided.project, decided.made.hold)
    first = people.asked(decided.made, "d2")
    transitions.mark_running(first.project, first.made.hold)
    second = people.asked(decided.made, "d3")
    transitions.park(second.project, second.made.hold)

    first.answer("yes")
    assert people.next_holder(first.made) is None
    second.answer("no")

    assert people.next_holder(second.made) is not None


def test_a_decision_that_takes_a_day(people: PeopleBuilder, clock: FrozenClock) -> None:
    """HUMAN-4: the wait holds nothing, costs nothing and ends with the answer."""
    made = people.make.running()
    start = AttemptStart("a1", "node", timeout_ms=600_000)
    transitions.start_attempt(made.project, made.hold, start)
    decided = people.asked(made, attempt_id="a1")
    transitions.park(made.project, made.hold)
    for _ in range(26):
        clock.advance(3_600_000)
        assert transitions.expire_decisions() == 0
        assert people.next_holder(made) is None
    run = made.run
    assert (run.lease.owner_id, run.consecutive_errors, run.status, run.error_code) == (None, 0, "waiting", None)

    decided.answer("yes")

    holder = people.next_holder(made)
    assert holder is not None
    transitions.mark_running(holder.project, holder.hold)
    decision, _ = transitions.ask_decision(holder.project, holder.hold, ask(attempt_id="a1"))
    assert decision.resolution.actor_id == "ann"
    assert [each.elapsed_ms for each in intervals(made)] == [0]


def test_answers_are_bounded(people: PeopleBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_decisions, "ANSWER_LIMIT", 2)
    decided = people.undecided()
    decided.answer("yes", ANN)
    decided.answer("no", BOB)
    before = snapshot_of_everything()

    with pytest.raises(errors.TooMany):
        decided.answer("no", CAT)
    with pytest.raises(errors.Invalid):
        decided.answer("yes", CAT, reason="x" * 8_193)
    with pytest.raises(errors.InvalidDocument):
        decided.answer("yes", CAT, input="x" * 65_536)
    with pytest.raises(errors.InvalidDigest):
        decided.answer("yes", CAT, request_digest="not a digest")

    assert snapshot_of_everything() == before
    assert DecisionSubmission.objects.count() == 2


def test_another_runs_decision_is_not_found(people: PeopleBuilder) -> None:
    decided, other = people.undecided(), people.make.running()

    with pytest.raises(errors.DecisionNotFound):
        transitions.answer_decision(
            other.project, other.run_id, "d1", transitions.DecisionAnswer("yes", decided.digest), ANN
        )
