"""Scenes of control and of what time brings about: pauses, wishes, cancels, lost runners, tokens, evidence."""

from runs import transitions
from runs.states import Scope
from runs.transitions import Answer, AttemptStart, Claimant, Completion
from tests.builders import LEASE_MS, OPERATOR, FrozenClock, RunBuilder, digest_of
from tests.queue.crash_machine import Act, Scene
from tests.queue.effects_cast import EffectBuilder
from tests.queue.losing import lost
from tests.queue.people_cast import PeopleBuilder

NEXT = Claimant("host-next", LEASE_MS)


def _pause(make: RunBuilder, clock: FrozenClock) -> Act:
    made = EffectBuilder(make, clock).applying().made
    transitions.start_attempt(make.project, made.hold, AttemptStart("open", "open"))
    return lambda: transitions.pause(make.project, made.run_id, OPERATOR, "Wait.")


def _unpause(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    transitions.pause(make.project, made.run_id, OPERATOR)
    return lambda: transitions.unpause(make.project, made.run_id, OPERATOR)


def _pause_parked(make: RunBuilder, clock: FrozenClock) -> Act:
    made = PeopleBuilder(make).waiting().made
    return lambda: transitions.pause_parked(make.project, made.run_id)


def _resume_interaction(make: RunBuilder, clock: FrozenClock) -> Act:
    made = PeopleBuilder(make).waiting().made
    transitions.pause_parked(make.project, made.run_id)
    return lambda: transitions.resume_interaction(make.project, made.run_id)


def _request_pause(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    return lambda: transitions.request_pause(make.project, made.run_id, 1_000, OPERATOR)


def _request_cancel(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    return lambda: transitions.request_cancel(make.project, made.run_id, 1_000, OPERATOR)


def _withdraw_wish(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    transitions.request_cancel(make.project, made.run_id, 1_000, OPERATOR)
    return lambda: transitions.withdraw_wish(make.project, made.run_id, OPERATOR)


def _park_with_a_wish(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    transitions.request_pause(make.project, made.run_id, 1_000, OPERATOR)
    return lambda: transitions.park(make.project, made.hold)


def _claim_with_a_due_wish(make: RunBuilder, clock: FrozenClock) -> Act:
    made = EffectBuilder(make, clock).applying().made
    transitions.request_cancel(make.project, made.run_id, 1_000, OPERATOR)
    clock.advance(LEASE_MS)
    return lambda: transitions.claim_next(make.project, NEXT, ["a token"])


def _claim_at_the_crash_limit(make: RunBuilder, clock: FrozenClock) -> Act:
    lost(make, make.queued(), clock, times=5)
    make.queued()
    return lambda: transitions.claim_next(make.project, NEXT, ["a token"])


def _claim_of_what_fails_with_its_runner(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running(definition_digest=digest_of("fail"), definition_snapshot={"lostRunner": "fail"})
    make.attempt(made, "open", "open")
    clock.advance(LEASE_MS)
    return lambda: transitions.claim_next(make.project, NEXT, ["a token"])


def _claim_of_what_parks_with_its_runner(make: RunBuilder, clock: FrozenClock) -> Act:
    make.running(definition_digest=digest_of("park"), definition_snapshot={"lostRunner": "park"})
    clock.advance(LEASE_MS)
    return lambda: transitions.claim_next(make.project, NEXT, ["a token"])


def _claim_for_validation(make: RunBuilder, clock: FrozenClock) -> Act:
    made = PeopleBuilder(make).submitted().made
    return lambda: transitions.claim_for_validation(make.project, made.run_id, NEXT, "a token")


def _claim_for_control(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.waiting()
    return lambda: transitions.claim_for_control(make.project, made.run_id, NEXT, "a token")


def _cancel_held(make: RunBuilder, clock: FrozenClock) -> Act:
    decided = PeopleBuilder(make).asked()
    return lambda: transitions.cancel_held(make.project, decided.made.hold)


def _cancel_unowned(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.queued()
    return lambda: transitions.cancel_unowned(make.project, made.run_id)


def _cancel_of_all_that_waits(make: RunBuilder, clock: FrozenClock) -> Act:
    made = PeopleBuilder(make).submitted().made
    return lambda: transitions.cancel(make.project, made.run_id, OPERATOR)


def _time_out(make: RunBuilder, clock: FrozenClock) -> Act:
    made = EffectBuilder(make, clock).applying().made
    return lambda: transitions.time_out(make.project, made.run_id, "It took too long.", made.token)


def _run_now(make: RunBuilder, clock: FrozenClock) -> Act:
    made = lost(make, make.queued(), clock, times=2)
    return lambda: transitions.run_now(make.project, made.run_id, OPERATOR)


def _park_source_changed(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    return lambda: transitions.park_source_changed(make.project, made.hold, "It is another file.")


def _keep_late_result(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    clock.advance(LEASE_MS)
    return lambda: transitions.keep_late_result(make.project, Completion(made.run_id, made.token, "late"))


def _note_demand(make: RunBuilder, clock: FrozenClock) -> Act:
    make.queued()
    return lambda: transitions.note_demand(make.project, ["inventory"])


def _issue_access_token(make: RunBuilder, clock: FrozenClock) -> Act:
    return lambda: transitions.issue_access_token(make.project, "runner", [Scope.RUNS_EXECUTE])


def _revoke_access_token(make: RunBuilder, clock: FrozenClock) -> Act:
    token, _ = transitions.issue_access_token(make.project, "runner", [Scope.RUNS_EXECUTE])

    def command() -> Answer:
        transitions.revoke_access_token(token)
        return Answer(200, None)

    # By itself it is one statement: there would be nothing to cut in two.
    return lambda: transitions.answered_once(token, "key", b"r" * 32, command)


def _own(make: RunBuilder, clock: FrozenClock) -> Act:
    token, _ = transitions.issue_access_token(make.project, "runner", [Scope.RUNS_EXECUTE])
    return lambda: transitions.own(token, "host-a")


def _make_project(make: RunBuilder, clock: FrozenClock) -> Act:
    return lambda: transitions.make_project("a new one")


SCENES: dict[str, Scene] = {
    "pause": _pause,
    "unpause": _unpause,
    "pause_parked": _pause_parked,
    "resume_interaction": _resume_interaction,
    "request_pause": _request_pause,
    "request_cancel": _request_cancel,
    "withdraw_wish": _withdraw_wish,
    "park: with a wish": _park_with_a_wish,
    "claim_next: a due wish": _claim_with_a_due_wish,
    "claim_next: the crash limit": _claim_at_the_crash_limit,
    "claim_next: fails with its runner": _claim_of_what_fails_with_its_runner,
    "claim_next: parks with its runner": _claim_of_what_parks_with_its_runner,
    "claim_for_validation": _claim_for_validation,
    "claim_for_control": _claim_for_control,
    "cancel_held": _cancel_held,
    "cancel_unowned": _cancel_unowned,
    "cancel: all that waits": _cancel_of_all_that_waits,
    "time_out": _time_out,
    "run_now": _run_now,
    "park_source_changed": _park_source_changed,
    "keep_late_result": _keep_late_result,
    "note_demand": _note_demand,
    "issue_access_token": _issue_access_token,
    "revoke_access_token": _revoke_access_token,
    "own": _own,
    "make_project": _make_project,
}
