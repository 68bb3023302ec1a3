"""What hangs open on runs: read together, settled in memory when its run is over, stored together. Nothing stays open.

One statement a kind to read, and one to store where there is anything, however many runs.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from runs.models import (
    ActiveInterval,
    Blob,
    DecisionResolution,
    HumanDecision,
    InteractiveRequest,
    InteractiveSubmission,
    NodeAttempt,
    Project,
    Run,
    WorkflowMessage,
    WorkflowTurn,
)
from runs.models.remembering import Remembering
from runs.states import (
    ATTEMPT_OPEN,
    AttemptStatus,
    DecisionOutcome,
    DecisionProvenance,
    MessageKind,
    MessageStatus,
    RequestStatus,
    StopReason,
    SubmissionOutcome,
)
from runs.transitions import blobs, mutex

# Of a completed run; follow-ups outlive it.
_DONE_KINDS = frozenset({MessageKind.STEP, MessageKind.DECISION})
_STOPPED_KINDS = _DONE_KINDS | {MessageKind.FOLLOW_UP}


class OpenWork:
    """What was open on runs under way: by run key, kind by kind."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._intervals = _by_run(open_intervals(runs), "attempt.run_id")
        attempts = NodeAttempt.objects.filter(run__in=runs, status__in=sorted(ATTEMPT_OPEN)).select_related("error")
        self._attempts = _by_run(attempts)
        self._turns = _by_run(WorkflowTurn.objects.filter(run__in=runs, ended_at=None).select_related("message"))
        self._messages = _by_run(WorkflowMessage.objects.filter(run__in=runs, status=MessageStatus.PENDING))

    def completed(self, run: Run, at: datetime) -> list[Remembering]:
        """Of a completed run: what was open became true with it. In memory; the rows that moved."""
        for attempt in self._attempts[run.pk]:
            _settle(attempt, AttemptStatus.COMPLETED, at)
        return [*self._over(run, at), *self._attempts[run.pk], *self._cancelled_messages(run, _DONE_KINDS, at)]

    def write(self) -> None:
        """Store what was settled."""
        _write(self._intervals, ["ended_at"])
        _write(self._attempts, ["status", "updated_at", "finished_at", "error"])
        _write(self._turns, ["stop_reason", "ended_at"])
        _write(self._messages, ["status", "updated_at"])

    def _over(self, run: Run, at: datetime) -> list[Remembering]:
        _close(self._intervals[run.pk])
        for turn in self._turns[run.pk]:
            turn.stop_reason, turn.ended_at = StopReason.LOST, at
        return [*self._intervals[run.pk], *self._turns[run.pk]]

    def _cancelled_messages(self, run: Run, kinds: frozenset[MessageKind], at: datetime) -> list[WorkflowMessage]:
        cancelled = [message for message in self._messages[run.pk] if message.kind in kinds]
        for message in cancelled:
            message.status, message.updated_at = MessageStatus.CANCELLED, at
        return cancelled


class StoppedWork(OpenWork):
    """The same of runs that fail, time out or are cancelled: what waits for people ends with them, too."""

    def __init__(self, project: Project, runs: Sequence[Run], reason: str, at: datetime) -> None:
        super().__init__(runs)
        self._reason = reason
        self._decisions = _by_run(HumanDecision.objects.filter(run__in=runs, resolution=None).order_by("pk"))
        pending = InteractiveRequest.objects.filter(run__in=runs, status=RequestStatus.PENDING)
        self._requests = _by_run(pending.select_related("attempt"))
        self._submissions = _by_run(validating(InteractiveRequest.objects.filter(run__in=runs)), "request.run_id")
        self._receipt = rejection(project, reason, at) if self._submissions else None

    def stopped(self, run: Run, attempts: AttemptStatus, actor_id: str, at: datetime) -> list[Remembering]:
        """Of a run that has ended in memory, in whose name; the rows that moved."""
        for attempt in self._attempts[run.pk]:
            _settle(attempt, attempts, at)
            attempt.error = attempt.error or run.error
        for decision in self._decisions[run.pk]:
            decision.resolution = self._cancellation(decision, actor_id, at)
            decision.resolved_at = at
        for request in self._requests[run.pk]:
            request.status, request.updated_at = RequestStatus.CANCELLED, at
            request.revision += 1
        for submission in self._submissions[run.pk]:
            submission.outcome, submission.receipt = SubmissionOutcome.REJECTED, self._receipt
        people = (*self._decisions[run.pk], *self._requests[run.pk], *self._submissions[run.pk])
        messages = self._cancelled_messages(run, _STOPPED_KINDS, at)
        return [*self._over(run, at), *self._attempts[run.pk], *messages, *people]

    def write(self) -> None:
        """Store what was settled."""
        super().write()
        decisions = [decision for group in self._decisions.values() for decision in group]
        DecisionResolution.objects.bulk_create(decision.resolution for decision in decisions)
        _write(self._decisions, ["resolved_at"])
        _write(self._requests, ["status", "revision", "updated_at"])
        _write(self._submissions, ["outcome", "receipt"])

    def _cancellation(self, decision: HumanDecision, actor_id: str, at: datetime) -> DecisionResolution:
        return DecisionResolution(
            decision=decision,
            outcome=DecisionOutcome.CANCELLED,
            provenance=DecisionProvenance.EXPLICIT_CANCEL,
            reason=self._reason,
            actor_id=actor_id,
            request_digest=decision.request_digest,
            resolved_at=at,
        )


def open_intervals(runs: Sequence[Run]) -> QuerySet[ActiveInterval]:
    """The open active intervals of these runs."""
    return ActiveInterval.objects.filter(attempt__run__in=runs, ended_at=None).select_related("attempt")


def close_intervals(runs: Sequence[Run]) -> dict[int, list[ActiveInterval]]:
    """End open active intervals at their last observation: what nobody observed is not counted. Stores them.

    By run key: those that moved.
    """
    closed = _by_run(open_intervals(runs), "attempt.run_id")
    for group in closed.values():
        _close(group)
    _write(closed, ["ended_at"])
    return closed


def validating(requests: QuerySet[InteractiveRequest]) -> QuerySet[InteractiveSubmission]:
    """What still validates for these requests."""
    found = InteractiveSubmission.objects.filter(request__in=requests, outcome=SubmissionOutcome.VALIDATING)
    return found.select_related("request")


def rejection(project: Project, why: str, at: datetime) -> Blob:
    """The receipt that turns a submission down without having looked at it."""
    receipt = blobs.document({"status": SubmissionOutcome.REJECTED, "error": why})
    return blobs.stored(project, [receipt], at)[receipt]


def reject_submissions(project: Project, request: InteractiveRequest, why: str, at: datetime) -> Sequence[Remembering]:
    """Turn down what still validates for this request, with a receipt that says why. Stores it; the rows that moved."""
    rejected = list(validating(InteractiveRequest.objects.filter(pk=request.pk)))
    if rejected:
        receipt = rejection(project, why, at)
        for submission in rejected:
            submission.outcome, submission.receipt = SubmissionOutcome.REJECTED, receipt
        mutex.write(rejected, ["outcome", "receipt"])
    return rejected


def _close(intervals: Sequence[ActiveInterval]) -> None:
    for interval in intervals:
        interval.ended_at = interval.observed_at


def _settle(attempt: NodeAttempt, status: AttemptStatus, at: datetime) -> None:
    attempt.status, attempt.updated_at, attempt.finished_at = status, at, attempt.finished_at or at


def _by_run(rows: Iterable[Any], way: str = "run_id") -> dict[int, list[Any]]:
    """Rows by the key of their run, which `way` leads to."""
    groups: dict[int, list[Any]] = defaultdict(list)
    *through, last = way.split(".")
    for row in rows:
        owner = getattr(row, through[0]) if through else row
        groups[getattr(owner, last)].append(row)
    return groups


def _write(groups: dict[int, list[Any]], fields: list[str]) -> None:
    mutex.write([row for group in groups.values() for row in group], fields)
