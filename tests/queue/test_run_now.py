"""Run now: an operator's word that a run is to be handed out at once, whatever held it back."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from runs import errors, transitions
from runs.models import Project, Run
from runs.rules_crashes import CRASH_LIMIT
from tests.builders import LEASE_MS, OPERATOR, START, FrozenClock, Made, RunBuilder, snapshot_of_everything, write
from tests.queue.losing import crashes, lost, taken
from tests.queue.people_cast import PeopleBuilder


@pytest.mark.parametrize("state", ["queued", "expired", "parked", "waiting"])
def test_what_nobody_holds_is_handed_out_at_once(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()

    transitions.run_now(project, made.run_id, OPERATOR)

    event = made.events[-1]
    assert (event.type, event.actor_type, event.actor_id) == ("run.resume_requested", "human", "operator")
    assert (made.run.queue_status, taken(made), crashes(made)) == ("queued", [made.run_id], 0)


def test_what_is_due_later_is_due_now(project: Project, make: RunBuilder) -> None:
    made = make.queued()
    write(made, available_at=START + timedelta(days=1))

    transitions.run_now(project, made.run_id, OPERATOR)

    assert taken(made) == [made.run_id]


@pytest.mark.parametrize("park", [transitions.park_no_progress, transitions.park_source_changed])
def test_what_was_held_back_is_let_go(project: Project, make: RunBuilder, park: Callable[..., Run]) -> None:
    made = make.running()
    park(project, made.hold, "because")

    transitions.run_now(project, made.run_id, OPERATOR)

    assert (made.run.error_code, made.run.queue_error, taken(made)) == (None, None, [made.run_id])


@pytest.mark.parametrize("times", [1, 3, CRASH_LIMIT])
def test_crashes_are_forgotten_met_or_not(project: Project, make: RunBuilder, clock: FrozenClock, times: int) -> None:
    made = lost(make, make.queued(), clock, times=times)

    transitions.run_now(project, made.run_id, OPERATOR)

    assert (taken(made), crashes(made), made.lease.retry_at) == ([made.run_id], 0, None)
    clock.advance(LEASE_MS)
    assert (taken(made), crashes(made)) == ([made.run_id], 1)


def test_a_held_run_is_left_to_its_holder(project: Project, make: RunBuilder) -> None:
    made = make.running()
    before = snapshot_of_everything()

    with pytest.raises(errors.LeaseHeld):
        transitions.run_now(project, made.run_id, OPERATOR)

    assert snapshot_of_everything() == before


def test_a_paused_run_is_unpaused_first(project: Project, make: RunBuilder) -> None:
    made = make.queued()
    transitions.pause(project, made.run_id, OPERATOR)

    with pytest.raises(errors.RunPaused):
        transitions.run_now(project, made.run_id, OPERATOR)


def test_a_run_that_waits_for_its_session_goes_on_waiting(project: Project, make: RunBuilder) -> None:
    asked = PeopleBuilder(make).waiting()

    with pytest.raises(errors.RequestPending):
        transitions.run_now(project, asked.made.run_id, OPERATOR)


@pytest.mark.parametrize("state", ["completed", "failed", "timed_out", "cancelled"])
def test_a_finished_run_is_over(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()
    before = snapshot_of_everything()

    with pytest.raises((errors.RunFinished, errors.RunCancelled)):
        transitions.run_now(project, made.run_id, OPERATOR)

    assert snapshot_of_everything() == before
