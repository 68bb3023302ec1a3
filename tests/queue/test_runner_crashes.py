"""Runners that die under a run: how that is counted, how long the run rests, and where it ends."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from runs import errors, rules_crashes, transitions
from runs.models import Project
from runs.rules_crashes import BACKOFF_BASE_MS, BACKOFF_CAP_MS, CRASH_LIMIT
from runs.states import EffectOutcome, ErrorCode
from runs.transitions import AttemptStart, EffectReservation, Note, RequestAsk
from tests.builders import LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder, digest_of, write
from tests.queue.losing import CONTROLLER, RUNNER, crashes, free_at, lost, taken
from tests.queue.people_cast import ask


def with_policy(make: RunBuilder, policy: str) -> Made:
    """A queued run whose definition says what a lost runner means."""
    return make.queued(definition_digest=digest_of(policy), definition_snapshot={"lostRunner": policy})


def test_the_first_takeover_is_immediate_and_counts_one(make: RunBuilder, clock: FrozenClock) -> None:
    made = lost(make, make.queued(), clock)

    assert taken(made) == [made.run_id]
    assert (crashes(made), made.lease.generation) == (1, 2)


def test_before_the_second_takeover_the_run_rests(make: RunBuilder, clock: FrozenClock) -> None:
    made = lost(make, make.queued(), clock, times=2)

    with pytest.raises(errors.BackingOff) as refused:
        make.claimed(made)

    rest_ms = made.lease.backoff_ms
    assert 0.75 * BACKOFF_BASE_MS <= rest_ms <= 1.25 * BACKOFF_BASE_MS
    assert (refused.value.facts["retry_in_ms"], refused.value.action) == (rest_ms, errors.Action.RETRY)
    assert taken(made) == []


def test_the_rest_counts_from_the_expiry_and_ends_to_the_millisecond(make: RunBuilder, clock: FrozenClock) -> None:
    made = lost(make, make.queued(), clock, times=2)
    clock.advance(made.lease.backoff_ms - 1)
    too_early = taken(made)
    clock.advance(1)

    assert (too_early, taken(made)) == ([], [made.run_id])


def test_a_resting_run_does_not_hold_up_those_behind_it(make: RunBuilder, clock: FrozenClock) -> None:
    made = lost(make, make.queued(), clock, times=2)
    behind = make.queued()

    assert taken(made) == [behind.run_id]


@pytest.mark.parametrize("claim", [transitions.claim_for_control, transitions.claim_for_validation])
def test_claims_for_control_and_validation_need_not_wait(
    project: Project, make: RunBuilder, clock: FrozenClock, claim: Callable[..., object]
) -> None:
    made = lost(make, make.queued(), clock, times=2)

    claim(project, made.run_id, CONTROLLER, "a token")

    assert (made.lease.owner_id, crashes(made)) == ("controller", 2)


def test_a_claim_for_control_ends_no_rest_and_is_nobodys_crash(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = lost(make, make.queued(), clock, times=3)
    rests_until = free_at(made, clock)
    transitions.claim_for_control(project, made.run_id, transitions.Claimant("controller", 10), "a token")
    clock.advance(10)

    assert (crashes(made), free_at(made, clock), taken(made)) == (3, rests_until, [])


def test_the_rest_doubles_with_every_crash_up_to_a_cap() -> None:
    rests = [rules_crashes.backoff_ms(crashes, b"one seed") for crashes in range(12)]

    assert rests[:2] == [0, 0]
    assert all(after == pytest.approx(2 * before, abs=2) for before, after in pairwise(rests[2:8]))
    assert rests[9] == rests[11] <= 1.25 * BACKOFF_CAP_MS


def test_the_rest_is_spread_by_up_to_a_quarter_and_the_same_for_the_same_run_and_generation() -> None:
    rests = {rules_crashes.backoff_ms(2, str(seed).encode()) for seed in range(200)}

    assert len(rests) > 100
    assert 0.75 * BACKOFF_BASE_MS <= min(rests) < 0.8 * BACKOFF_BASE_MS
    assert 1.2 * BACKOFF_BASE_MS < max(rests) <= 1.25 * BACKOFF_BASE_MS
    assert rules_crashes.backoff_ms(2, b"7:3") == rules_crashes.backoff_ms(2, b"7:3")


def test_the_claim_that_meets_the_last_crash_parks_the_run_and_goes_on_to_the_next(
    make: RunBuilder, clock: FrozenClock
) -> None:
    made = lost(make, make.queued(), clock, times=CRASH_LIMIT)
    behind = make.queued()

    assert taken(made) == [behind.run_id]
    run, event = made.run, made.events[-1]
    assert (made.axes, run.error_code) == (("queued", "parked"), ErrorCode.RUNNER_NO_PROGRESS)
    assert (made.lease.owner_id, made.lease.ready_at) == (None, None)
    assert (event.type, event.actor_type) == ("run.worker_no_progress", "system")
    assert run.status_detail == "Its runners were lost 5 times in a row without any progress."


def test_the_claim_by_id_that_meets_the_last_crash_parks_the_run_and_says_so(
    make: RunBuilder, clock: FrozenClock
) -> None:
    made = lost(make, make.queued(), clock, times=CRASH_LIMIT)

    with pytest.raises(errors.HeldBack) as refused:
        make.claimed(made)

    assert refused.value.facts["error_code"] == ErrorCode.RUNNER_NO_PROGRESS
    assert made.axes == ("queued", "parked")


def test_one_claim_parks_all_that_are_at_their_limit_and_still_finds_the_next(
    make: RunBuilder, clock: FrozenClock
) -> None:
    hopeless = [make.queued() for _ in range(5)]
    for made in hopeless:
        write(made, consecutive_errors=CRASH_LIMIT - 1)
        make.claimed(made)
    clock.advance(LEASE_MS)
    behind = make.queued()

    assert taken(behind) == [behind.run_id]
    assert {made.axes for made in hopeless} == {("queued", "parked")}


def finished_attempt(made: Made) -> None:
    transitions.start_attempt(made.project, made.hold, AttemptStart("a", "node"))
    transitions.complete_attempt(made.project, made.hold, "a")


def failed_attempt(made: Made) -> None:
    transitions.start_attempt(made.project, made.hold, AttemptStart("a", "node"))
    transitions.fail_attempt(made.project, made.hold, "a", "No.")


def applied_effect(made: Made) -> None:
    effect, _ = transitions.reserve_effect(made.project, made.hold, EffectReservation("mail", "1"))
    _, number = transitions.start_effect(made.project, made.hold, effect.effect_id)
    transitions.apply_effect(made.project, made.hold, effect.effect_id, number or 0)


def rejected_effect(made: Made) -> None:
    effect, _ = transitions.reserve_effect(made.project, made.hold, EffectReservation("mail", "1"))
    _, number = transitions.start_effect(made.project, made.hold, effect.effect_id)
    transitions.reject_effect(made.project, made.hold, effect.effect_id, number or 0, "No.")


def raised_request(made: Made) -> None:
    transitions.start_attempt(made.project, made.hold, AttemptStart("a", "node"))
    transitions.raise_request(made.project, made.hold, RequestAsk("q", "a", "a session"))


def asked_decision(made: Made) -> None:
    transitions.ask_decision(made.project, made.hold, ask())


PROGRESS = [finished_attempt, failed_attempt, applied_effect, rejected_effect, raised_request, asked_decision]


@pytest.mark.parametrize("progress", PROGRESS, ids=lambda progress: progress.__name__)
def test_progress_forgets_the_crashes_before_it_and_excuses_the_next(
    project: Project, make: RunBuilder, clock: FrozenClock, progress: Callable[[Made], None]
) -> None:
    made = lost(make, make.queued(), clock, times=CRASH_LIMIT - 1)
    clock.set(free_at(made, clock))
    made = make.claimed(made)
    transitions.mark_running(project, made.hold)

    progress(made)

    assert (crashes(made), made.lease.progressed, made.lease.takeover_at) == (0, True, made.lease.expires_at)
    clock.advance(LEASE_MS)
    if made.lease.pending_requests == 0:
        assert taken(made) == [made.run_id]
    assert crashes(made) == 0


def test_marking_renewing_starting_and_notes_are_no_progress(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.running()
    transitions.start_attempt(project, made.hold, AttemptStart("a", "node"))
    transitions.record_event(project, Note(made.run_id, "progress", token=made.token), OPERATOR)
    transitions.reserve_effect(project, made.hold, EffectReservation("mail", "1"))
    transitions.renew(project, made.hold, LEASE_MS)
    clock.advance(LEASE_MS)

    make.claimed(made)

    assert crashes(made) == 1


def test_what_others_write_is_no_progress(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    effect, _ = transitions.reserve_effect(project, made.hold, EffectReservation("mail", "1"))
    _, number = transitions.start_effect(project, made.hold, effect.effect_id)
    transitions.doubt_effect(project, made.hold, effect.effect_id, number or 0, "No answer.")
    transitions.settle_ambiguous_effect(
        project, made.run_id, effect.effect_id, EffectOutcome.APPLIED, OPERATOR, "It is there."
    )
    clock.advance(LEASE_MS)

    make.claimed(made)

    assert crashes(made) == 1


def test_handing_back_never_counts(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.queued()
    for _ in range(2 * CRASH_LIMIT):
        made = make.claimed(made)
        clock.advance(LEASE_MS - 1)
        transitions.park(project, made.hold)

    assert (crashes(made), taken(made)) == (0, [made.run_id])


def test_a_run_that_waits_loses_nothing_with_its_runner(make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running(definition_digest=digest_of("fail"), definition_snapshot={"lostRunner": "fail"})
    raised_request(made)
    clock.advance(LEASE_MS)

    transitions.sweep()

    assert (made.axes, crashes(made), made.lease.owner_id) == (("waiting", "running"), 0, None)


def test_a_definition_may_park_what_lost_its_runner(make: RunBuilder, clock: FrozenClock) -> None:
    made = lost(make, with_policy(make, "park"), clock)

    assert taken(made) == []
    assert (made.axes, made.run.error_code) == (("queued", "parked"), ErrorCode.RUNNER_LOST)
    assert made.lease.ready_at is None


def test_a_definition_may_fail_what_lost_its_runner(make: RunBuilder, clock: FrozenClock) -> None:
    made = lost(make, with_policy(make, "fail"), clock)

    with pytest.raises(errors.RunFinished) as refused:
        make.claimed(made)

    assert refused.value.facts["status"] == "failed"
    assert (made.axes, made.run.error_code) == (("failed", "failed"), ErrorCode.RUNNER_LOST)
    assert (made.events[-1].type, made.events[-1].actor_type) == ("run.queue_failed", "system")


def test_progress_does_not_soften_what_a_definition_says(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.claimed(with_policy(make, "park"))
    transitions.mark_running(project, made.hold)
    finished_attempt(made)
    clock.advance(LEASE_MS)

    assert taken(made) == []
    assert made.run.error_code == ErrorCode.RUNNER_LOST


@pytest.mark.parametrize("policy", ["park", "fail"])
def test_a_hold_for_control_that_ran_out_is_no_lost_runner(
    project: Project, make: RunBuilder, clock: FrozenClock, policy: str
) -> None:
    made = with_policy(make, policy)
    transitions.claim_for_control(project, made.run_id, CONTROLLER, "a token")
    clock.advance(LEASE_MS)

    assert (taken(made), crashes(made)) == ([made.run_id], 0)


def test_a_definition_says_retry_park_or_fail(make: RunBuilder) -> None:
    with pytest.raises(errors.Invalid):
        with_policy(make, "explode")


def test_renewing_moves_the_takeover_along(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = lost(make, make.queued(), clock, times=2)
    clock.set(free_at(made, clock))
    made = make.claimed(made)
    clock.advance(LEASE_MS // 2)

    transitions.renew(project, made.hold, LEASE_MS)

    lease = made.lease
    assert lease.backoff_ms > BACKOFF_BASE_MS
    assert lease.takeover_at == clock.at + timedelta(milliseconds=LEASE_MS + lease.backoff_ms)


def test_run_now_forgets_crashes_and_rest(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = lost(make, make.queued(), clock, times=3)

    transitions.run_now(project, made.run_id, OPERATOR)

    assert (made.events[-1].type, made.events[-1].actor_id) == ("run.resume_requested", "operator")
    assert (taken(made), crashes(made)) == ([made.run_id], 0)


def test_run_now_lets_a_run_at_its_limit_try_again(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = lost(make, make.queued(), clock, times=CRASH_LIMIT)
    taken(made)

    transitions.run_now(project, made.run_id, OPERATOR)

    assert (made.run.error_code, taken(made), crashes(made)) == (None, [made.run_id], 0)


def test_what_was_asked_to_resume_keeps_its_rest_and_its_count(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = lost(make, make.queued(), clock, times=3)
    rests_until = free_at(made, clock)

    transitions.request_resume(project, made.run_id)

    assert (taken(made), free_at(made, clock)) == ([], rests_until)
    clock.set(rests_until)
    assert (taken(made), crashes(made)) == ([made.run_id], 3)


def test_a_reclaim_by_the_live_owner_is_no_crash(project: Project, make: RunBuilder) -> None:
    made = make.running()
    again = transitions.Claimant("host-a", LEASE_MS, reclaim=True)

    transitions.claim(project, made.run_id, again, "the second process's token")

    assert (made.lease.generation, crashes(made)) == (2, 0)


def test_a_takeover_by_the_same_owner_counts_like_any_other(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.starting(owner_id=RUNNER.owner_id)
    clock.advance(LEASE_MS)

    assert (taken(made), crashes(made)) == ([made.run_id], 1)
