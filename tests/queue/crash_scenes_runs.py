"""Scenes of the runner's own verbs: reserving, claiming, holding, ending, attempts."""

from runs import transitions
from runs.clock import frozen
from runs.states import Scope
from runs.transitions import Answer, AttemptStart, Claimant, Completion, Failure, Note, Observation
from tests.builders import LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder
from tests.queue.crash_machine import Act, Scene


def _reserve(make: RunBuilder, clock: FrozenClock) -> Act:
    batch = [make.reservation(workflow_name=name, input=name) for name in ("inventory", "new one")]
    return lambda: transitions.reserve_all(make.project, batch)


def _restart(make: RunBuilder, clock: FrozenClock) -> Act:
    parent = make.failed(origin_session_id="one")
    child = make.reservation(
        parent_run_id=parent.run_id,
        lineage_kind="restart",
        parent_run_revision=parent.run.revision,
        origin_session_id="one",
    )
    return lambda: transitions.reserve(make.project, child)


def _claim(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.expired()
    return lambda: transitions.claim(make.project, made.run_id, Claimant("host-b", LEASE_MS), "a token")


def _claim_next(make: RunBuilder, clock: FrozenClock) -> Act:
    make.queued()
    make.expired()
    return lambda: transitions.claim_next(make.project, Claimant("host-b", LEASE_MS), ["a token", "another"])


def _renew(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    return lambda: transitions.renew(make.project, made.hold, 2 * LEASE_MS)


def _mark_running(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.starting()
    return lambda: transitions.mark_running(make.project, made.hold)


def _park(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    return lambda: transitions.park(make.project, made.hold)


def _with_attempts(make: RunBuilder) -> Made:
    made = make.running()
    done = make.attempt(made, "done")
    transitions.complete_attempt(make.project, made.hold, done, "kept")
    make.attempt(made, "open", "open")
    return made


def _complete(make: RunBuilder, clock: FrozenClock) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.complete(make.project, Completion(made.run_id, made.token, {"x": 1}))


def _fail(make: RunBuilder, clock: FrozenClock) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.fail(make.project, Failure(made.run_id, "broken", "It broke.", made.token))


def _cancel(make: RunBuilder, clock: FrozenClock) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.cancel(make.project, made.run_id, OPERATOR, "no longer wanted")


def _cancel_stale(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.expired()
    return lambda: transitions.cancel_stale(make.project, made.run_id)


def _record_event(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.queued()
    return lambda: transitions.record_event(make.project, Note(made.run_id, "seen"), OPERATOR)


def _start_attempt(make: RunBuilder, clock: FrozenClock) -> Act:
    lost = make.expired()
    with frozen(lost.run.head_at):
        make.attempt(lost, "node", "old")
    made = make.claimed(lost, "host-b")
    transitions.mark_running(make.project, made.hold)
    return lambda: transitions.start_attempt(make.project, made.hold, AttemptStart("new", "node", input=1))


def _progress_attempt(make: RunBuilder, clock: FrozenClock) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.progress_attempt(make.project, made.hold, Observation("open", 0.5))


def _complete_attempt(make: RunBuilder, clock: FrozenClock) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.complete_attempt(make.project, made.hold, "open", 2)


def _fail_attempt(make: RunBuilder, clock: FrozenClock) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.fail_attempt(make.project, made.hold, "open", "It broke.")


def _park_no_progress(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    return lambda: transitions.park_no_progress(make.project, made.hold, "Nothing moves.")


def _park_ambiguous_effect(make: RunBuilder, clock: FrozenClock) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.park_ambiguous_effect(make.project, made.hold)


def _request_resume(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.paused()
    return lambda: transitions.request_resume(make.project, made.run_id)


def _delete(make: RunBuilder, clock: FrozenClock) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.delete(make.project, made.hold)


def _command_with_receipt(make: RunBuilder, clock: FrozenClock) -> Act:
    token, _ = transitions.issue_access_token(make.project, "runner", [Scope.RUNS_EXECUTE])
    made = make.running()

    def command() -> Answer:
        run = transitions.complete(make.project, Completion(made.run_id, made.token))
        return Answer(200, run.run_id)

    return lambda: transitions.answered_once(token, "key", b"r" * 32, command)


SCENES: dict[str, Scene] = {
    "reserve": _reserve,
    "restart": _restart,
    "claim": _claim,
    "claim_next": _claim_next,
    "renew": _renew,
    "mark_running": _mark_running,
    "park": _park,
    "complete": _complete,
    "fail": _fail,
    "cancel": _cancel,
    "cancel_stale": _cancel_stale,
    "record_event": _record_event,
    "start_attempt": _start_attempt,
    "progress_attempt": _progress_attempt,
    "complete_attempt": _complete_attempt,
    "fail_attempt": _fail_attempt,
    "park_no_progress": _park_no_progress,
    "park_ambiguous_effect": _park_ambiguous_effect,
    "request_resume": _request_resume,
    "delete": _delete,
    "command_with_receipt": _command_with_receipt,
}
