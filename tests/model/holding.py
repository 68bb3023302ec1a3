"""What the holder of a run of the model does with it, and what is done to one that nobody has begun."""

from runs.states import AttemptStatus, ErrorCode, QueueStatus, RunStatus
from tests.model import ending, guards
from tests.model.dependents import PARK_QUEUE
from tests.model.model import Queue, Refused, Run


def _held(queue: Queue, run_id: str, token: str) -> Run:
    run = queue.find(run_id)
    guards.held(run, token, queue.now)
    return run


def mark_running(queue: Queue, run_id: str, token: str) -> None:
    run = _held(queue, run_id, token)
    if run.status == RunStatus.QUEUED or (run.status == RunStatus.WAITING and not run.is_asked):
        run.status = RunStatus.RUNNING
    run.queue_status = QueueStatus.RUNNING
    run.revision += 1


def park(queue: Queue, run_id: str, token: str) -> None:
    run = _held(queue, run_id, token)
    ending.apply_pending(run, PARK_QUEUE)
    _parked(queue, run)


def park_held_back(queue: Queue, run_id: str, token: str, code: ErrorCode) -> None:
    """Park for no progress, or for a changed source."""
    run = _held(queue, run_id, token)
    run.error_code, run.available_at = code, queue.now
    _parked(queue, run)


def park_ambiguous_effect(queue: Queue, run_id: str, token: str) -> None:
    run = _held(queue, run_id, token)
    guards.running(run)
    if run.queue_status == QueueStatus.QUEUED:
        raise Refused("not_running")
    run.status, run.error_code = RunStatus.WAITING, ErrorCode.EFFECT_AMBIGUOUS
    for attempt in run.attempts.values():
        if attempt.status == AttemptStatus.RUNNING:
            attempt.status = AttemptStatus.WAITING
    _parked(queue, run)


def _parked(queue: Queue, run: Run) -> None:
    run.queue_status = QueueStatus.PARKED
    run.lease.release()
    run.revision += 1
    if run.lease.intent is not None:
        ending.carry_out(queue, run)


def complete(queue: Queue, run_id: str, token: str) -> None:
    run = _held(queue, run_id, token)
    if run.is_asked or run.is_undecided or any(effect.forbids_completing for effect in run.effects.values()):
        raise Refused("open_work")
    ending.complete(run)


def fail(queue: Queue, run_id: str, token: str | None, code: str) -> None:
    ending.fail(_held_or_unbegun(queue, run_id, token), code)


def time_out(queue: Queue, run_id: str, token: str | None) -> None:
    ending.fail(_held_or_unbegun(queue, run_id, token), ErrorCode.TIMED_OUT, RunStatus.TIMED_OUT)


def cancel(queue: Queue, run_id: str, token: str | None) -> None:
    ending.cancel(_held_or_unbegun(queue, run_id, token))


def _held_or_unbegun(queue: Queue, run_id: str, token: str | None) -> Run:
    """With a token the holder's run; without, one that nobody has begun."""
    run = queue.find(run_id)
    if token is None:
        guards.unbegun_and_unowned(run)
    else:
        guards.held(run, token, queue.now)
    return run


def note(queue: Queue, run_id: str, token: str | None) -> None:
    """With a token the holder's; without, anybody's, also on a run that is over."""
    run = queue.find(run_id)
    if token is not None:
        guards.held(run, token, queue.now)
    run.revision += 1
