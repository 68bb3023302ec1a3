"""Ending a run as timed out: by its holder, or from outside while nobody has begun it."""

import pytest

from runs import errors, transitions
from runs.models import Effect, Project
from runs.states import ErrorCode
from runs.transitions import EffectReservation
from tests.builders import HOST, LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder, snapshot_of_everything

TEXT = "It took longer than an hour."


def test_the_holder_ends_its_run_as_timed_out(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(1_000)

    transitions.time_out(project, made.run_id, TEXT, made.token)

    run, event = made.run, made.events[-1]
    assert (made.axes, run.error_code, run.display_status) == (
        ("timed_out", "failed"),
        ErrorCode.TIMED_OUT,
        "timed_out",
    )
    assert run.error is not None
    assert (bytes(run.error.content).decode(), run.finished_at) == (TEXT, clock.at)
    assert (event.type, event.actor_id, event.generation) == ("run.queue_failed", HOST, 1)
    assert '"code":"timedOut"' in event.payload
    assert made.lease.owner_id is None


def test_what_hangs_on_the_run_times_out_with_it(project: Project, make: RunBuilder) -> None:
    made = make.running()
    make.attempt(made)
    pending, _ = transitions.reserve_effect(project, made.hold, EffectReservation("mail", "1"))
    applying, _ = transitions.reserve_effect(project, made.hold, EffectReservation("mail", "2"))
    transitions.start_effect(project, made.hold, applying.effect_id)

    transitions.time_out(project, made.run_id, TEXT, made.token)

    (attempt,) = made.attempts
    assert attempt.status == "timed_out"
    assert dict(Effect.objects.values_list("effect_id", "status")) == {
        pending.effect_id: "cancelled",
        applying.effect_id: "ambiguous",
    }


@pytest.mark.parametrize("state", ["queued", "parked"])
def test_from_outside_only_what_nobody_has_begun_is_ended(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()

    if state == "queued":
        transitions.time_out(project, made.run_id, TEXT)
        assert (made.axes, made.events[-1].actor_type) == (("timed_out", "failed"), "system")
    else:
        with pytest.raises(errors.RunBegun):
            transitions.time_out(project, made.run_id, TEXT)


@pytest.mark.parametrize("state", ["starting", "running", "expired"])
def test_from_outside_nothing_that_has_an_owner_is_ended(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()
    before = snapshot_of_everything()

    with pytest.raises((errors.LeaseHeld, errors.RunBegun)):
        transitions.time_out(project, made.run_id, TEXT)

    assert snapshot_of_everything() == before


def test_who_does_not_hold_the_run_does_not_end_it(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(LEASE_MS)

    with pytest.raises(errors.LeaseLost):
        transitions.time_out(project, made.run_id, TEXT, made.token)


@pytest.mark.parametrize("state", ["completed", "failed", "timed_out", "cancelled"])
def test_a_finished_run_keeps_its_end(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()
    before = snapshot_of_everything()

    for token in (None, made.token):
        with pytest.raises((errors.RunFinished, errors.RunCancelled)):
            transitions.time_out(project, made.run_id, TEXT, token)

    assert snapshot_of_everything() == before


def test_a_timed_out_run_can_be_restarted(project: Project, make: RunBuilder) -> None:
    made = make.running()
    transitions.time_out(project, made.run_id, TEXT, made.token)

    restart = make.queued(
        parent_run_id=made.run_id,
        lineage_kind="restart",
        parent_run_revision=made.run.revision,
        origin_session_id=made.run.origin_session_id,
    )

    assert restart.run.restart_number == 1
    with pytest.raises(errors.RunFinished):
        transitions.cancel(project, made.run_id, OPERATOR)
