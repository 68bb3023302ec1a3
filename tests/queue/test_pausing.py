"""Pausing an unfinished run at once, whoever holds it, and letting it go on from where it stood."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from runs import canonical, errors, transitions
from runs.models import ActiveInterval, Effect, EffectAttempt, Project
from runs.rules_crashes import CRASH_LIMIT
from runs.states import ErrorCode, Priority
from runs.transitions import AttemptStart, Completion, EffectReservation
from tests.builders import (
    HOST,
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
from tests.queue.losing import CONTROLLER, RUNNER, crashes, free_at, lost, taken
from tests.queue.people_cast import PeopleBuilder

UNFINISHED = ["queued", "starting", "running", "expired", "parked", "waiting"]
FINISHED = ["completed", "failed", "timed_out", "cancelled"]


@pytest.mark.parametrize("state", UNFINISHED)
def test_every_unfinished_run_can_be_paused(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()
    status = made.run.status

    transitions.pause(project, made.run_id, OPERATOR, "wait for the release")

    run, event = made.run, made.events[-1]
    assert (made.axes, run.paused, run.display_status) == ((status, "parked"), True, "paused")
    assert (made.lease.owner_id, made.lease.ready_at, taken(made)) == (None, None, [])
    assert (event.type, event.actor_type, event.actor_id) == ("run.paused", "human", "operator")
    assert canonical.loads(event.payload.encode()) == {"status": "parked", "reason": "wait for the release"}


@pytest.mark.parametrize("state", FINISHED)
def test_a_finished_run_can_not_be_paused(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()
    before = snapshot_of_everything()

    with pytest.raises((errors.RunFinished, errors.RunCancelled)):
        transitions.pause(project, made.run_id, OPERATOR)

    assert snapshot_of_everything() == before


def test_a_paused_run_stays_paused_and_has_no_second_event(project: Project, make: RunBuilder) -> None:
    made = make.queued()
    transitions.pause(project, made.run_id, OPERATOR)
    before = snapshot_of_everything()

    transitions.pause(project, made.run_id, OPERATOR, "again")

    assert snapshot_of_everything() == before


def test_the_holder_of_a_paused_run_is_fenced(project: Project, make: RunBuilder) -> None:
    made = make.running()
    transitions.pause(project, made.run_id, OPERATOR)
    before = snapshot_of_everything()
    calls: list[Callable[[], object]] = [
        lambda: transitions.renew(project, made.hold, LEASE_MS),
        lambda: transitions.park(project, made.hold),
        lambda: transitions.complete(project, Completion(made.run_id, made.token)),
        lambda: transitions.start_attempt(project, made.hold, AttemptStart("a", "node")),
    ]

    for call in calls:
        with pytest.raises(errors.RunPaused) as refused:
            call()
        assert refused.value.action == errors.Action.STOP

    assert snapshot_of_everything() == before


def test_a_paused_run_is_handed_to_nobody(project: Project, make: RunBuilder) -> None:
    made = make.running()
    transitions.pause(project, made.run_id, OPERATOR)

    with pytest.raises(errors.RunPaused):
        make.claimed(made)
    assert taken(made) == []


def test_a_paused_run_can_still_be_held_for_control(project: Project, make: RunBuilder) -> None:
    made = make.running()
    transitions.pause(project, made.run_id, OPERATOR)

    transitions.claim_for_control(project, made.run_id, CONTROLLER, "a token")

    assert (made.lease.owner_id, made.axes, made.run.paused) == ("controller", ("running", "parked"), True)


def test_after_unpausing_anybody_gets_the_run_at_once_under_a_new_generation(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.running(lease_ms=60_000)
    transitions.pause(project, made.run_id, OPERATOR)
    clock.advance(1_000)

    transitions.unpause(project, made.run_id, OPERATOR)

    assert (taken(made), made.lease.generation, crashes(made)) == ([made.run_id], 2, 0)


@pytest.mark.parametrize(
    ("state", "axes"),
    [
        ("queued", ("queued", "queued")),
        ("starting", ("queued", "queued")),
        ("running", ("running", "queued")),
        ("expired", ("running", "queued")),
        ("parked", ("running", "parked")),
        ("waiting", ("waiting", "parked")),
    ],
)
def test_unpausing_puts_back_what_the_pause_took_off_the_queue(
    project: Project, make: RunBuilder, state: str, axes: tuple[str, str]
) -> None:
    made: Made = getattr(make, state)()
    transitions.pause(project, made.run_id, OPERATOR)

    transitions.unpause(project, made.run_id, OPERATOR, "go on")

    run, event = made.run, made.events[-1]
    assert (made.axes, run.paused, run.parked_by_pause, run.status_detail) == (axes, False, False, None)
    assert (event.type, event.actor_id) == ("run.resumed", "operator")
    assert canonical.loads(event.payload.encode()) == {"status": axes[1], "reason": "go on"}
    assert taken(made) == ([] if state == "waiting" else [made.run_id])


def test_a_run_that_is_not_paused_can_not_be_unpaused(project: Project, make: RunBuilder) -> None:
    made = make.queued()

    with pytest.raises(errors.RunNotPaused):
        transitions.unpause(project, made.run_id, OPERATOR)


def test_a_paused_run_keeps_its_place_in_the_queue(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    first, second = make.queued(), make.queued()
    clock.advance(1_000)
    third = make.queued()
    for made in (first, third):
        transitions.pause(project, made.run_id, OPERATOR)
    clock.advance(1_000)
    for made in (third, first):
        transitions.unpause(project, made.run_id, OPERATOR)

    runs = transitions.claim_next(project, RUNNER, ["1", "2", "3"])

    assert [run.run_id for run in runs] == [first.run_id, second.run_id, third.run_id]


def test_a_pause_makes_nothing_due_earlier(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.queued()
    write(made, available_at=START + timedelta(seconds=90))

    transitions.pause(project, made.run_id, OPERATOR)
    transitions.unpause(project, made.run_id, OPERATOR)

    assert taken(made) == []
    clock.advance(90_000)
    assert taken(made) == [made.run_id]


def test_a_paused_run_keeps_its_session(project: Project, make: RunBuilder) -> None:
    made = make.running(origin_session_id="one")
    transitions.pause(project, made.run_id, OPERATOR)

    with pytest.raises(errors.SessionBusy):
        make.queued(origin_session_id="one")


def test_pausing_and_unpausing_keep_the_backoff_of_a_lost_runner(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = lost(make, make.queued(), clock, times=3)
    rests_until = free_at(made, clock)

    transitions.pause(project, made.run_id, OPERATOR)
    transitions.unpause(project, made.run_id, OPERATOR)

    assert (crashes(made), made.lease.retry_at, taken(made)) == (3, rests_until, [])
    clock.set(rests_until)
    assert (taken(made), crashes(made)) == ([made.run_id], 3)


def test_pausing_a_live_run_is_nobodys_crash(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    for _ in range(2 * CRASH_LIMIT):
        transitions.pause(project, made.run_id, OPERATOR)
        transitions.unpause(project, made.run_id, OPERATOR)
        made = make.claimed(made)

    assert (crashes(made), made.lease.retry_at) == (0, None)


def test_a_run_at_its_limit_is_parked_for_good_before_it_is_paused(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = lost(make, make.queued(), clock, times=CRASH_LIMIT)

    transitions.pause(project, made.run_id, OPERATOR)
    transitions.unpause(project, made.run_id, OPERATOR)

    assert (made.run.error_code, made.axes, taken(made)) == (ErrorCode.RUNNER_NO_PROGRESS, ("queued", "parked"), [])


def test_a_run_that_a_lost_runner_has_failed_is_not_paused(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.running(definition_digest=digest_of("fail"), definition_snapshot={"lostRunner": "fail"})
    clock.advance(LEASE_MS)

    with pytest.raises(errors.RunFinished):
        transitions.pause(project, made.run_id, OPERATOR)

    assert made.axes == ("failed", "failed")


def test_effects_that_are_being_applied_are_in_doubt_after_a_pause(project: Project, make: RunBuilder) -> None:
    made = make.running()
    effect, _ = transitions.reserve_effect(project, made.hold, EffectReservation("mail", "1"))
    waits, _ = transitions.reserve_effect(project, made.hold, EffectReservation("mail", "2"))
    transitions.start_effect(project, made.hold, effect.effect_id)

    transitions.pause(project, made.run_id, OPERATOR)

    statuses = dict(Effect.objects.values_list("effect_id", "status"))
    assert statuses == {effect.effect_id: "ambiguous", waits.effect_id: "pending"}
    (attempt,) = EffectAttempt.objects.all()
    assert (attempt.outcome, attempt.finished_at) == ("interrupted", START)
    assert made.event_types[-2:] == ["effect.ambiguous", "run.paused"]


def test_active_time_stops_at_its_last_observation(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    make.attempt(made)
    clock.advance(5_000)

    transitions.pause(project, made.run_id, OPERATOR)

    (interval,) = ActiveInterval.objects.filter(attempt__run=made.run)
    assert interval.ended_at == interval.observed_at == START


def test_a_paused_run_that_waits_for_its_session_waits_on_afterwards(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    asked = PeopleBuilder(make).waiting()
    transitions.pause(project, asked.made.run_id, OPERATOR)

    transitions.unpause(project, asked.made.run_id, OPERATOR)

    assert (asked.made.axes, taken(asked.made)) == (("waiting", "parked"), [])


def test_a_request_can_be_resumed_by_its_session_after_a_pause(project: Project, make: RunBuilder) -> None:
    asked = PeopleBuilder(make).raised()
    transitions.pause(project, asked.made.run_id, OPERATOR)

    transitions.resume_interaction(project, asked.made.run_id)

    run = asked.made.run
    assert (run.paused, run.parked_by_pause, asked.made.axes) == (False, False, ("waiting", "parked"))


def test_many_are_paused_and_unpaused_at_once_with_an_outcome_for_each(project: Project, make: RunBuilder) -> None:
    running, done, queued = make.running(), make.completed(), make.queued(priority=Priority.LOW)
    ids = [queued.run_id, "nobody", done.run_id, running.run_id, queued.run_id]

    paused = transitions.pause_all(project, ids, OPERATOR)
    unpaused = transitions.unpause_all(project, ids, OPERATOR)

    told = [getattr(outcome, "code", "done") for outcome in paused]
    assert told == ["done", "not_found", "run_finished", "done", "duplicate_item"]
    assert [getattr(outcome, "code", "done") for outcome in unpaused] == told
    assert (running.axes, queued.axes) == (("running", "queued"), ("queued", "queued"))


def test_another_projects_run_is_not_found(make: RunBuilder, other_project: Project) -> None:
    made = make.queued()

    with pytest.raises(errors.RunNotFound):
        transitions.pause(other_project, made.run_id, OPERATOR)
    with pytest.raises(errors.RunNotFound):
        transitions.unpause(other_project, made.run_id, OPERATOR)


def test_a_run_that_its_holder_parks_stays_parked_after_a_pause(project: Project, make: RunBuilder) -> None:
    made = make.parked(owner_id=HOST)
    before = made.run.available_at
    transitions.pause(project, made.run_id, OPERATOR)

    transitions.unpause(project, made.run_id, OPERATOR)

    assert (made.axes, made.run.available_at, taken(made)) == (("running", "parked"), before, [made.run_id])
