"""What a runner can still do after it has lost its lease: nothing."""

from collections.abc import Callable

import pytest

from runs import errors, transitions
from runs.models import Event, Project
from runs.states import TERMINAL_EVENTS
from runs.transitions import AttemptStart, Claimant, Completion, Failure, Note
from tests.builders import HOST, LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder, snapshot_of_everything

# All that a holder may call, by name.
CALLS: dict[str, Callable[[Made], object]] = {
    "renew": lambda made: transitions.renew(made.project, made.hold, LEASE_MS),
    "record event": lambda made: transitions.record_event(
        made.project, Note(made.run_id, "progress", token=made.token), OPERATOR
    ),
    "mark running": lambda made: transitions.mark_running(made.project, made.hold),
    "start attempt": lambda made: transitions.start_attempt(made.project, made.hold, AttemptStart("new", "node")),
    "progress": lambda made: transitions.progress_attempt(made.project, made.hold, transitions.Observation("open", 1)),
    "complete attempt": lambda made: transitions.complete_attempt(made.project, made.hold, "open", 1),
    "fail attempt": lambda made: transitions.fail_attempt(made.project, made.hold, "open", "late"),
    "park": lambda made: transitions.park(made.project, made.hold),
    "fail": lambda made: transitions.fail(made.project, Failure(made.run_id, "late", "Late.", made.token)),
    "cancel": lambda made: transitions.cancel_held(made.project, made.hold),
    "complete": lambda made: transitions.complete(made.project, Completion(made.run_id, made.token, {"x": 1})),
}


@pytest.fixture
def silent(make: RunBuilder) -> Made:
    """A run whose holder, with an open attempt, is about to go silent."""
    made = make.running(owner_id="host-a")
    make.attempt(made, attempt_id="open")
    return made


@pytest.mark.parametrize("call", CALLS)
def test_after_a_takeover_everything_from_the_old_holder_is_refused(
    make: RunBuilder, silent: Made, clock: FrozenClock, call: str
) -> None:
    clock.advance(31_000)
    make.claimed(silent, "host-b")
    before = snapshot_of_everything()

    with pytest.raises(errors.LeaseLost) as refused:
        CALLS[call](silent)

    assert (refused.value.code, refused.value.facts["cause"]) == ("lease_lost", "superseded")
    assert refused.value.action == errors.Action.STOP
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("call", CALLS)
def test_at_its_expiry_everything_is_refused_though_nobody_took_over(
    silent: Made, clock: FrozenClock, call: str
) -> None:
    clock.advance(LEASE_MS)
    before = snapshot_of_everything()

    with pytest.raises(errors.LeaseLost) as refused:
        CALLS[call](silent)

    assert refused.value.facts["cause"] == "expired"
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("call", CALLS)
def test_after_a_cancel_everything_is_refused_as_cancelled(project: Project, silent: Made, call: str) -> None:
    transitions.cancel(project, silent.run_id, OPERATOR)
    before = snapshot_of_everything()

    with pytest.raises(errors.RunCancelled) as refused:
        CALLS[call](silent)

    assert refused.value.action == errors.Action.STOP
    assert snapshot_of_everything() == before


def test_the_new_holder_finishes_and_its_result_stands(
    project: Project, make: RunBuilder, silent: Made, clock: FrozenClock
) -> None:
    clock.advance(31_000)
    second = make.claimed(silent, "host-b")
    with pytest.raises(errors.LeaseLost):
        CALLS["complete"](silent)

    transitions.complete(project, Completion(second.run_id, second.token, {"x": 2}))

    assert second.run.output is not None
    assert bytes(second.run.output.content) == b'{"x":2}'
    (end,) = Event.objects.filter(run=second.run, type__in=TERMINAL_EVENTS)
    assert end.generation == 2


def test_a_second_process_of_the_same_owner_does_not_get_what_the_first_holds(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    first = make.running(owner_id=HOST)
    clock.advance(LEASE_MS - 1)
    again = Claimant(HOST, LEASE_MS)

    with pytest.raises(errors.LeaseHeld):
        transitions.claim(project, first.run_id, again, "the second process's token")
    next_one = transitions.claim_next(project, again, ["the second process's token"])
    transitions.complete(project, Completion(first.run_id, first.token))

    assert next_one == []
    assert (first.axes, first.lease.generation) == (("completed", "done"), 1)
