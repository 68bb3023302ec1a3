"""Cancelling: at once over a live lease, by the holder, of what nobody has begun, of what nobody holds any more."""

from typing import Any

import pytest

from runs import errors, transitions
from runs.models import Project
from runs.transitions import BATCH_LIMIT, Claimant, Completion
from tests.builders import HOST, LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder, snapshot_of_everything

UNFINISHED = ["queued", "starting", "running", "expired", "parked", "paused", "waiting"]
FINISHED = ["completed", "failed", "timed_out", "cancelled"]


@pytest.mark.parametrize("state", UNFINISHED)
def test_cancelling_works_from_every_unfinished_state(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()

    transitions.cancel(project, made.run_id, OPERATOR)

    run = made.run
    assert (made.axes, run.error_code, run.paused) == (("cancelled", "cancelled"), "cancelled", False)
    assert (made.lease.owner_id, made.lease.ready_at) == (None, None)


def test_cancelling_is_an_event_of_who_did_it_with_a_generation_of_its_own(project: Project, make: RunBuilder) -> None:
    made = make.running()

    transitions.cancel(project, made.run_id, OPERATOR, "no longer wanted")

    event = made.events[-1]
    assert (event.type, event.actor_type, event.actor_id) == ("run.queue_cancelled", "human", "operator")
    assert (event.generation, made.lease.generation) == (2, 2)
    assert '"reason":"no longer wanted"' in event.payload


def test_a_cancelled_runs_holder_is_fenced(project: Project, make: RunBuilder) -> None:
    made = make.running()
    transitions.cancel(project, made.run_id, OPERATOR)
    before = snapshot_of_everything()

    with pytest.raises(errors.RunCancelled) as refused:
        transitions.complete(project, Completion(made.run_id, made.token))

    assert refused.value.action == errors.Action.STOP
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("state", FINISHED)
def test_a_finished_run_keeps_its_end(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()
    before = snapshot_of_everything()

    with pytest.raises(errors.Refusal) as refused:
        transitions.cancel(project, made.run_id, OPERATOR)

    assert refused.value.facts == {"run_id": made.run_id, "status": state}
    assert snapshot_of_everything() == before


def test_cancelling_frees_the_session(project: Project, make: RunBuilder) -> None:
    made = make.running(origin_session_id="one")

    transitions.cancel(project, made.run_id, OPERATOR)

    assert make.queued(origin_session_id="one").axes == ("queued", "queued")


def test_open_attempts_are_cancelled_with_the_run(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    make.attempt(made)
    clock.advance(3)

    transitions.cancel(project, made.run_id, OPERATOR)

    (attempt,) = made.attempts
    assert (attempt.status, attempt.finished_at) == ("cancelled", clock.at)


def test_many_are_cancelled_at_once_with_an_outcome_for_each(project: Project, make: RunBuilder) -> None:
    running, done, queued = make.running(), make.completed(), make.queued()
    ids = [queued.run_id, "nobody", done.run_id, running.run_id, queued.run_id]

    outcomes: list[Any] = transitions.cancel_all(project, ids, OPERATOR)

    told = [getattr(outcome, "code", None) or outcome.status for outcome in outcomes]
    assert told == ["cancelled", "not_found", "run_finished", "cancelled", "duplicate_item"]


def test_a_full_batch_is_cancelled_and_a_larger_one_refused(project: Project, make: RunBuilder) -> None:
    batch = [make.reservation() for _ in range(BATCH_LIMIT)]
    transitions.reserve_all(project, batch)
    ids = [asked.run_id for asked in batch]

    with pytest.raises(errors.BatchTooLarge):
        transitions.cancel_all(project, [*ids, "one more"], OPERATOR)
    outcomes: list[Any] = transitions.cancel_all(project, ids, OPERATOR)

    assert {outcome.status for outcome in outcomes} == {"cancelled"}


def test_another_projects_run_is_not_found(make: RunBuilder, other_project: Project) -> None:
    made = make.queued()

    with pytest.raises(errors.RunNotFound):
        transitions.cancel(other_project, made.run_id, OPERATOR)


def test_the_holder_cancels_under_its_own_generation(project: Project, make: RunBuilder) -> None:
    made = make.running()

    transitions.cancel_held(project, made.hold)

    event = made.events[-1]
    assert (event.type, event.actor_id, event.generation) == ("run.queue_cancelled", HOST, 1)
    assert (made.axes, made.lease.generation) == (("cancelled", "cancelled"), 1)


def test_who_does_not_hold_a_run_does_not_cancel_it_as_holder(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.running()
    clock.advance(LEASE_MS)

    with pytest.raises(errors.LeaseLost):
        transitions.cancel_held(project, made.hold)


def test_an_unowned_run_is_cancelled_by_the_system(project: Project, make: RunBuilder) -> None:
    made = make.queued()

    transitions.cancel_unowned(project, made.run_id)

    event = made.events[-1]
    assert (event.actor_type, event.generation, made.lease.generation) == ("system", None, 0)


def test_a_stale_run_is_cancelled_by_control_under_a_system_generation(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.running()
    clock.advance(LEASE_MS)

    transitions.cancel_stale(project, made.run_id)

    event = made.events[-1]
    assert (event.actor_type, event.actor_id, event.generation) == ("control", "workflow-control", 2)
    assert '"staleControl":true' in event.payload


def test_a_live_run_is_not_stale(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(LEASE_MS - 1)

    with pytest.raises(errors.LeaseHeld):
        transitions.cancel_stale(project, made.run_id)


@pytest.mark.parametrize("state", UNFINISHED)
def test_a_cancelled_run_is_handed_out_no_more(
    project: Project, make: RunBuilder, clock: FrozenClock, state: str
) -> None:
    made: Made = getattr(make, state)()
    transitions.cancel(project, made.run_id, OPERATOR)
    clock.advance(10 * LEASE_MS)

    assert transitions.claim_next(project, Claimant(HOST, LEASE_MS), ["a token"]) == []
