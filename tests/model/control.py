"""What operators and the control do to runs of the model."""

from runs.states import QueueStatus, RunStatus, Wish
from tests.model import claiming, ending, guards
from tests.model.dependents import Request
from tests.model.model import Intent, Queue, Refused, Run

GRACE_LIMIT_MS = 600_000


def cancel(queue: Queue, run_id: str) -> None:
    run = queue.find(run_id)
    guards.unfinished(run)
    run.lease.generation += 1
    ending.cancel(run)


def cancel_stale(queue: Queue, run_id: str) -> None:
    run = queue.find(run_id)
    guards.unfinished(run)
    guards.not_live(run, queue.now)
    run.lease.generation += 1
    ending.cancel(run)


def pause(queue: Queue, run_id: str) -> None:
    """What has come due on the run comes first, so that a pause finds it as a sweep would have left it."""
    run = queue.find(run_id)
    guards.unfinished(run)
    crashes = run.crashes
    is_free = claiming.met(queue, run)
    guards.unfinished(run)
    if not run.paused:
        ending.pause(run, queue.now)
    elif is_free:
        run.crashes = crashes  # It was paused already: nothing has been looked at.


def unpause(queue: Queue, run_id: str) -> None:
    run = queue.find(run_id)
    guards.unfinished(run)
    guards.paused(run)
    if run.parked_by_pause:
        run.queue_status = QueueStatus.QUEUED
    run.paused = run.parked_by_pause = False
    run.revision += 1


def wish(queue: Queue, run_id: str, wished: Wish, grace_ms: int) -> None:
    run = queue.find(run_id)
    guards.unfinished(run)
    guards.unpaused(run)
    guards.live(run, queue.now)
    if not 0 < grace_ms <= GRACE_LIMIT_MS:
        raise Refused("invalid_request")
    if run.lease.intent is not None:
        raise Refused("wish_stands")
    run.lease.intent = Intent(wished, queue.now + grace_ms)
    run.revision += 1


def withdraw_wish(queue: Queue, run_id: str) -> None:
    run = queue.find(run_id)
    guards.unfinished(run)
    if run.lease.intent is None or run.lease.has_intent_due(queue.now):
        raise Refused("no_wish")
    run.lease.intent = None
    run.revision += 1


def run_now(queue: Queue, run_id: str) -> None:
    run = queue.find(run_id)
    guards.unfinished(run)
    guards.unpaused(run)
    _offer_again(queue, run)
    run.progress()


def request_resume(queue: Queue, run_id: str) -> None:
    run = queue.find(run_id)
    guards.unfinished(run)
    _offer_again(queue, run)


def _offer_again(queue: Queue, run: Run) -> None:
    guards.unasked(run)
    guards.not_live(run, queue.now)
    run.paused = run.parked_by_pause = False
    run.queue_status, run.error_code, run.available_at = QueueStatus.QUEUED, None, queue.now
    run.revision += 1


def pause_parked(queue: Queue, run_id: str) -> None:
    run = queue.find(run_id)
    guards.begun_and_parked(run)
    guards.asked(run)
    guards.not_live(run, queue.now)
    if run.paused:
        return
    run.paused = True
    run.stop_clocks()
    run.revision += 1


def resume_interaction(queue: Queue, run_id: str) -> None:
    run = queue.find(run_id)
    guards.begun_and_parked(run)
    guards.paused(run)
    guards.asked(run)
    guards.not_live(run, queue.now)
    run.paused = run.parked_by_pause = False
    run.revision += 1


def begin_interaction_timeout(queue: Queue, run_id: str, token: str, session_id: str) -> None:
    """The request whose attempt has used up its active time is cancelled, and the run goes on without it."""
    run = queue.find(run_id)
    guards.held(run, token, queue.now)
    due = None if run.paused else _used_up(run, session_id)
    if due is None:
        raise Refused("interaction_not_due")
    if (run.queue_status, run.status) != (QueueStatus.PARKED, RunStatus.WAITING):
        raise Refused("not_parked_and_waiting")
    run.stop_clocks()
    ending.cancel_request(due)
    run.status, run.queue_status, run.error_code = RunStatus.RUNNING, QueueStatus.STARTING, None
    run.revision += 1


def _used_up(run: Run, session_id: str) -> Request | None:
    """At most one request of a run is pending at a time."""
    for request in run.requests.values():
        attempt = run.attempts[request.attempt_id]
        is_due = bool(attempt.timeout_ms) and sum(attempt.clocks) >= (attempt.timeout_ms or 0)
        if request.is_pending and request.session_id == session_id and is_due:
            return request
    return None
