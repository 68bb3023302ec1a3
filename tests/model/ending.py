"""How a run of the model ends, and how it comes to a standstill; also what other verbs do to its effects."""

from runs.states import (
    AttemptStatus,
    DecisionOutcome,
    DecisionProvenance,
    EffectStatus,
    ErrorCode,
    MessageKind,
    MessageStatus,
    QueueStatus,
    RequestStatus,
    RunStatus,
    StopReason,
    SubmissionOutcome,
    Wish,
)
from tests.model.dependents import SETTLE_QUEUE, Request
from tests.model.model import Queue, Run

_OF_THE_RUN = {MessageKind.STEP, MessageKind.DECISION}
_ATTEMPTS = {
    RunStatus.COMPLETED: AttemptStatus.COMPLETED,
    RunStatus.FAILED: AttemptStatus.FAILED,
    RunStatus.TIMED_OUT: AttemptStatus.TIMED_OUT,
    RunStatus.CANCELLED: AttemptStatus.CANCELLED,
}


def complete(run: Run) -> None:
    """End it well. Nothing is pending, undecided or in doubt: that is the caller's to see."""
    _end(run, RunStatus.COMPLETED, QueueStatus.DONE, None)
    _cancel_messages(run, _OF_THE_RUN)
    apply_pending(run, SETTLE_QUEUE)


def fail(run: Run, code: str, status: RunStatus = RunStatus.FAILED) -> None:
    _stop(run, status, QueueStatus.FAILED, code)


def cancel(run: Run) -> None:
    _stop(run, RunStatus.CANCELLED, QueueStatus.CANCELLED, ErrorCode.CANCELLED)


def _stop(run: Run, status: RunStatus, queue_status: QueueStatus, code: str) -> None:
    _end(run, status, queue_status, code)
    _cancel_messages(run, _OF_THE_RUN | {MessageKind.FOLLOW_UP})
    for effect in run.effects.values():
        if effect.scope == "run" and effect.status == EffectStatus.PENDING:
            effect.move(EffectStatus.CANCELLED)
            effect.next_at = None
    doubt_applying(run)
    for decision in run.decisions.values():
        if decision.outcome is None:
            decision.resolve(DecisionOutcome.CANCELLED, DecisionProvenance.EXPLICIT_CANCEL)
    for request in run.requests.values():
        if request.is_pending:
            cancel_request(request)


def _end(run: Run, status: RunStatus, queue_status: QueueStatus, code: str | None) -> None:
    run.status, run.queue_status, run.error_code = status, queue_status, code
    run.paused = run.parked_by_pause = False
    run.revision += 1
    run.lease.release()
    run.lease.intent = run.lease.retry_at = None
    run.stop_clocks()
    for attempt in run.attempts.values():
        if attempt.is_open:
            attempt.end(_ATTEMPTS[status])
    for turn in run.turns.values():
        turn.reason = turn.reason or StopReason.LOST


def _cancel_messages(run: Run, kinds: set[MessageKind]) -> None:
    for message in run.messages.values():
        if message.status == MessageStatus.PENDING and message.kind in kinds:
            message.status = MessageStatus.CANCELLED


def cancel_request(request: Request) -> None:
    request.move(RequestStatus.CANCELLED)
    for submission in request.submissions.values():
        if submission.outcome == SubmissionOutcome.VALIDATING:
            submission.outcome = SubmissionOutcome.REJECTED


def doubt_applying(run: Run) -> None:
    """Nobody will say what came of what is being applied."""
    for effect in run.effects.values():
        if effect.scope == "run" and effect.status == EffectStatus.APPLYING:
            effect.doubt()


def apply_pending(run: Run, effect_type: str) -> None:
    """Effects of this type, of any scope, are done."""
    for effect in run.effects.values():
        if effect.effect_type == effect_type and effect.status == EffectStatus.PENDING:
            effect.move(EffectStatus.APPLIED)


def pause(run: Run, now: int) -> None:
    """Fence whoever holds it, and keep its place in the queue and its backoff."""
    doubt_applying(run)
    run.lease.retry_at = run.lease.rests_until(now)
    run.lease.release()
    run.lease.intent = None
    run.parked_by_pause = run.queue_status != QueueStatus.PARKED
    run.queue_status, run.paused = QueueStatus.PARKED, True
    run.stop_clocks()
    run.revision += 1


def carry_out(queue: Queue, run: Run) -> None:
    """Do what an operator wished of the holder."""
    count_loss(run, queue.now)
    if run.lease.intent is not None and run.lease.intent.wish == Wish.PAUSE:
        pause(run, queue.now)
    else:
        run.lease.generation += 1
        cancel(run)


def count_loss(run: Run, now: int) -> bool:
    """Whether the run's runner is lost with it; an expired lease under which nothing was done is one crash more."""
    has_run_out = run.lease.has_expired(now) and run.status != RunStatus.WAITING
    run.crashes += has_run_out and not run.lease.progressed
    return has_run_out and run.queue_status in (QueueStatus.STARTING, QueueStatus.RUNNING)
