"""What hangs on a run when it is over: nothing of it stays open. One statement a kind, however many runs."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from runs.models import (
    ActiveInterval,
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
from runs.transitions import blobs


def complete(runs: Sequence[Run]) -> None:
    """Of completed runs, already stored: what is open became true with the run."""
    if not runs:
        return
    close_intervals(runs)
    _settle_attempts(runs, AttemptStatus.COMPLETED)
    _lose_turns(runs)
    _cancel_messages(runs, [MessageKind.STEP, MessageKind.DECISION])


def settle(
    project: Project, runs: Sequence[Run], attempts: AttemptStatus, reason: str, actors: dict[int, str], at: datetime
) -> None:
    """Of failed, timed-out or cancelled runs, already stored; `actors` says by run key in whose name."""
    if not runs:
        return
    close_intervals(runs)
    _settle_attempts(runs, attempts, error=Coalesce(F("error"), _of_run("error")))
    _lose_turns(runs)
    _cancel_messages(runs, [MessageKind.STEP, MessageKind.DECISION, MessageKind.FOLLOW_UP])
    _cancel_decisions(runs, reason, actors, at)
    reject_submissions(project, InteractiveRequest.objects.filter(run__in=runs), reason, at)
    _cancel_requests(runs)


def close_intervals(runs: Sequence[Run]) -> None:
    """End open active intervals at their last observation: what nobody observed is not counted."""
    open_ones = ActiveInterval.objects.filter(attempt__run__in=runs, ended_at=None)
    open_ones.update(ended_at=F("observed_at"))


def reject_submissions(project: Project, requests: QuerySet[InteractiveRequest], why: str, at: datetime) -> None:
    """Turn down what still validates for these requests, with a receipt that says why."""
    validating = InteractiveSubmission.objects.filter(request__in=requests, outcome=SubmissionOutcome.VALIDATING)
    if validating.exists():
        receipt = blobs.document({"status": SubmissionOutcome.REJECTED, "error": why})
        stored = blobs.stored(project, [receipt], at)
        validating.update(outcome=SubmissionOutcome.REJECTED, receipt=stored[receipt])


def _settle_attempts(runs: Sequence[Run], status: AttemptStatus, **also: Coalesce) -> None:
    NodeAttempt.objects.filter(run__in=runs, status__in=sorted(ATTEMPT_OPEN)).update(
        status=status,
        updated_at=_of_run("finished_at"),
        finished_at=Coalesce(F("finished_at"), _of_run("finished_at")),
        **also,
    )


def _lose_turns(runs: Sequence[Run]) -> None:
    open_ones = WorkflowTurn.objects.filter(run__in=runs, ended_at=None)
    open_ones.update(stop_reason=StopReason.LOST, ended_at=_of_run("finished_at"))


def _cancel_messages(runs: Sequence[Run], kinds: Sequence[MessageKind]) -> None:
    pending = WorkflowMessage.objects.filter(run__in=runs, status=MessageStatus.PENDING, kind__in=kinds)
    pending.update(status=MessageStatus.CANCELLED, updated_at=_of_run("finished_at"))


def _cancel_decisions(runs: Sequence[Run], reason: str, actors: dict[int, str], at: datetime) -> None:
    undecided = HumanDecision.objects.filter(run__in=runs, resolution=None).order_by("pk")
    ended_at = {run.pk: run.finished_at for run in runs}
    DecisionResolution.objects.bulk_create(
        DecisionResolution(
            decision=decision,
            outcome=DecisionOutcome.CANCELLED,
            provenance=DecisionProvenance.EXPLICIT_CANCEL,
            reason=reason,
            actor_id=actors[decision.run_id],
            request_digest=decision.request_digest,
            resolved_at=ended_at[decision.run_id] or at,
        )
        for decision in undecided
    )
    HumanDecision.objects.filter(pk__in=[decision.pk for decision in undecided]).update(
        resolved_at=_of_run("finished_at")
    )


def _cancel_requests(runs: Sequence[Run]) -> None:
    pending = InteractiveRequest.objects.filter(run__in=runs, status=RequestStatus.PENDING)
    pending.update(status=RequestStatus.CANCELLED, revision=F("revision") + 1, updated_at=_of_run("finished_at"))


def _of_run(field: str) -> Subquery:
    """A column of the row's own run: the runs of a batch differ in their times and errors."""
    return Subquery(Run.objects.filter(pk=OuterRef("run_id")).values(field))
