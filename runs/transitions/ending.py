"""What it means that a run is over: both axes, the lease, and everything that still hangs on it."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import Coalesce

from runs import journal, rules
from runs.models import Blob, NodeAttempt, Run
from runs.states import ATTEMPT_OPEN, AttemptStatus, Verb
from runs.transitions import mutex

_RUN_FIELDS = (
    "status", "status_detail", "paused", "output", "error", "updated_at", "finished_at",
    "queue_status", "error_code", "queue_error", "queue_updated_at", "queue_finished_at", *journal.HEAD_FIELDS,
)  # fmt: skip


def end(run: Run, verb: Verb, at: datetime, *, code: str | None = None, message: Blob | None = None) -> None:
    """Move both axes to where `verb` ends, and release the lease; in memory."""
    if verb.ends_run is None or verb.ends_queue is None:
        raise AssertionError(f"{verb.name} does not end a run")
    run.status, run.queue_status = verb.ends_run, verb.ends_queue
    run.status_detail, run.paused = None, False
    run.error_code, run.error, run.queue_error = code, message, message
    run.updated_at = run.finished_at = run.queue_updated_at = run.queue_finished_at = at
    mutex.release(run.lease)
    run.lease.ready_at = rules.ready_at(run)


def write(runs: Sequence[Run]) -> None:
    """Store ended runs and their leases."""
    mutex.write([run.lease for run in runs], mutex.RELEASED_FIELDS)
    mutex.write(runs, _RUN_FIELDS)


def complete_dependents(runs: Sequence[Run]) -> None:
    """Of completed runs: what is open became true with the run."""
    _settle_attempts(runs, AttemptStatus.COMPLETED)


def settle_dependents(runs: Sequence[Run], attempts: AttemptStatus = AttemptStatus.FAILED) -> None:
    """Of failed, timed-out or cancelled runs, already stored: nothing stays open."""
    _settle_attempts(runs, attempts, error=Coalesce(F("error"), _of_run("error")))


def _settle_attempts(runs: Sequence[Run], status: AttemptStatus, **also: Coalesce) -> None:
    if runs:
        NodeAttempt.objects.filter(run__in=runs, status__in=sorted(ATTEMPT_OPEN)).update(
            status=status,
            updated_at=_of_run("finished_at"),
            finished_at=Coalesce(F("finished_at"), _of_run("finished_at")),
            **also,
        )


def _of_run(field: str) -> Subquery:
    """A column of the attempt's own run: the runs of a batch differ in their times and errors."""
    return Subquery(Run.objects.filter(pk=OuterRef("run_id")).values(field))
