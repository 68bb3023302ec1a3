"""The model's attempts: a node that was completed once is never done again."""

from runs.states import AttemptStatus
from tests.model import guards
from tests.model.dependents import Attempt
from tests.model.model import Queue, Refused, Run


def start_attempt(
    queue: Queue, run_id: str, token: str, attempt_id: str, node_id: str, timeout_ms: int | None
) -> tuple[str, bool]:
    """The attempt that stands for the node, and whether it was made now."""
    run = _worked_on(queue, run_id, token)
    known = run.attempts.get(attempt_id)
    if known is not None and known.node_id != node_id:
        raise Refused("attempt_conflict")
    of_node = [attempt for attempt in run.attempts.values() if attempt.node_id == node_id]
    for attempt in of_node:
        if attempt.status == AttemptStatus.COMPLETED:
            return attempt.attempt_id, False
    present = [attempt for attempt in of_node if _is_present(run, attempt)]
    if known is not None:
        if known not in present:
            raise Refused("attempt_settled")
        return attempt_id, False
    if present:
        raise Refused("attempt_open")
    for attempt in of_node:
        if attempt.is_open:
            attempt.end(AttemptStatus.FAILED)
            run.revision += 1
    run.attempts[attempt_id] = Attempt(attempt_id, node_id, len(of_node) + 1, run.lease.generation, timeout_ms)
    run.revision += 1
    return attempt_id, True


def observe(queue: Queue, run_id: str, token: str, attempt_id: str, active_ms: int) -> None:
    run = _worked_on(queue, run_id, token)
    attempt = open_attempt(run, attempt_id)
    if attempt.is_counting:
        attempt.clocks[-1] = max(attempt.clocks[-1], active_ms)


def end_attempt(queue: Queue, run_id: str, token: str, attempt_id: str, status: AttemptStatus) -> None:
    """It is completed, or failed."""
    run = _worked_on(queue, run_id, token)
    open_attempt(run, attempt_id).end(status)
    run.progress()
    run.revision += 1


def _worked_on(queue: Queue, run_id: str, token: str) -> Run:
    run = queue.find(run_id)
    guards.held(run, token, queue.now)
    guards.running(run)
    return run


def open_attempt(run: Run, attempt_id: str) -> Attempt:
    """The attempt, if it is open under the present generation."""
    if attempt_id not in run.attempts:
        raise Refused("not_found")
    if not _is_present(run, run.attempts[attempt_id]):
        raise Refused("attempt_settled")
    return run.attempts[attempt_id]


def _is_present(run: Run, attempt: Attempt) -> bool:
    return attempt.is_open and attempt.generation == run.lease.generation
