"""Marking running and parking: what a holder says while it works, and how it hands a run back."""

from datetime import timedelta

import pytest

from runs import errors, transitions
from runs.models import Project
from runs.states import RunStatus
from runs.transitions import Claimant, Hold
from tests.builders import HOST, LEASE_MS, START, FrozenClock, RunBuilder, snapshot_of_everything, write


def test_marking_running_starts_a_queued_run(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.starting()
    clock.advance(7)

    transitions.mark_running(project, made.hold)

    assert made.axes == ("running", "running")
    assert (made.run.started_at, made.run.updated_at, made.run.queue_updated_at) == (clock.at,) * 3
    event = made.events[-1]
    assert (event.type, event.actor_id, event.generation) == ("run.queue_running", HOST, 1)


def test_a_run_has_started_once(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(LEASE_MS)
    second = make.claimed(made, "host-b")

    transitions.mark_running(project, second.hold)

    assert made.run.started_at == START
    assert made.events[-1].generation == 2


def test_marking_running_again_is_allowed_and_another_event(project: Project, make: RunBuilder) -> None:
    made = make.running()

    transitions.mark_running(project, made.hold)

    assert made.event_types[-2:] == ["run.queue_running", "run.queue_running"]


def test_a_waiting_run_goes_on_when_it_is_marked_running(project: Project, make: RunBuilder) -> None:
    made = make.claimed(make.waiting())

    transitions.mark_running(project, made.hold)

    assert made.axes == ("running", "running")


def test_a_running_run_is_expected_back_at_once_when_its_holder_is_lost(make: RunBuilder) -> None:
    made = make.running()

    assert made.lease.ready_at == made.run.available_at


def test_a_parked_run_is_offered_again_at_once(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(5_000)

    transitions.park(project, made.hold)

    assert made.axes == ("running", "parked")
    lease = made.lease
    assert (lease.owner_id, lease.token_hash, lease.expires_at, lease.generation) == (None, None, None, 1)
    assert lease.ready_at == START
    event = made.events[-1]
    assert (event.type, event.actor_id, event.generation) == ("run.queue_parked", HOST, 1)


def test_a_parked_waiting_run_is_not_offered(project: Project, make: RunBuilder) -> None:
    made = make.claimed(make.waiting())

    transitions.park(project, made.hold)

    assert made.lease.ready_at is None


def test_a_parked_run_keeps_its_place(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    first = make.running()
    clock.advance(1)
    make.queued()
    transitions.park(project, first.hold)

    (run,) = transitions.claim_next(project, Claimant(HOST, LEASE_MS), ["a token"])

    assert run.run_id == first.run_id


def test_the_token_is_dead_after_parking(project: Project, make: RunBuilder) -> None:
    made = make.parked()
    before = snapshot_of_everything()

    with pytest.raises(errors.LeaseLost) as refused:
        transitions.mark_running(project, made.hold)

    assert refused.value.facts == {"run_id": made.run_id, "cause": "released"}
    assert snapshot_of_everything() == before


def test_times_never_fall_within_a_run(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.starting()
    clock.set(START - timedelta(hours=1))

    transitions.mark_running(project, made.hold)
    transitions.park(project, made.hold)

    assert {event.at for event in made.events} == {START}
    assert (made.run.started_at, made.run.updated_at, made.run.queue_updated_at) == (START, START, START)


def test_a_batch_has_an_outcome_for_each_in_the_order_asked(project: Project, make: RunBuilder) -> None:
    first, done, second = make.starting(), make.completed(), make.starting()
    holds = [second.hold, done.hold, Hold("nobody", "x"), first.hold, first.hold, Hold(second.run_id)]

    outcomes = transitions.mark_running_all(project, holds)

    told = [getattr(outcome, "code", None) or getattr(outcome, "run_id", "") for outcome in outcomes]
    assert told == [second.run_id, "run_finished", "not_found", first.run_id, "duplicate_item", "duplicate_item"]
    assert {made.run.status for made in (first, second)} == {RunStatus.RUNNING}


def test_a_batch_parks_each_run_at_its_own_time(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    ahead = make.running()
    clock.advance(-1_000)
    behind = make.running()

    transitions.park_all(project, [ahead.hold, behind.hold])

    assert ahead.run.queue_updated_at == START
    assert behind.run.queue_updated_at == START - timedelta(seconds=1)


def test_a_held_run_that_waits_keeps_waiting_while_it_is_renewed(project: Project, make: RunBuilder) -> None:
    made = make.claimed(make.waiting())

    transitions.renew(project, made.hold, LEASE_MS)

    assert made.axes == ("waiting", "starting")


def test_a_paused_run_is_parked_by_who_holds_it(project: Project, make: RunBuilder) -> None:
    made = make.running()
    write(made, paused=True)

    transitions.park(project, made.hold)

    assert (made.run.queue_status, made.run.paused, made.lease.ready_at) == ("parked", True, None)
