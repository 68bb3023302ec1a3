"""Keeping what a runner reported too late: after the refusal, as evidence, in a table of its own."""

from runs import clock, rules
from runs.models import LateResult, Project
from runs.transitions import blobs, mutex
from runs.transitions.mutex import transition
from runs.transitions.run import Completion, Failure

KEPT_PER_RUN = 20


@transition
def keep_late_result(project: Project, report: Completion | Failure) -> LateResult | None:
    """Keep a refused completion or failure; None where the run keeps enough already, or the report has no token."""
    run = mutex.lock_one(project, report.run_id)
    at = mutex.never_back(run, clock.now())

    if report.token is None or LateResult.objects.filter(run=run).count() >= KEPT_PER_RUN:
        return None

    if isinstance(report, Completion):
        verb, content = "complete", blobs.document(report.output)
    else:
        verb, content = "fail", blobs.document({"code": report.error_code, "message": report.error_message})
    kept, _ = LateResult.objects.get_or_create(
        run=run,
        verb=verb,
        token_hash=rules.token_hash(report.token),
        result=blobs.stored(project, [content], at)[content],
        defaults={"generation": run.lease.generation, "created_at": at},
    )
    return kept
