"""Keeping what a runner reported too late: after the refusal, as evidence, in a table of its own."""

from runs import clock, rules
from runs.canonical import digest
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

    if report.token is None:
        return None
    if isinstance(report, Completion):
        verb, content = "complete", blobs.document(report.output)
    else:
        verb, content = "fail", blobs.document({"code": report.error_code, "message": report.error_message})
    of_run = LateResult.objects.filter(run=run)
    same = of_run.filter(verb=verb, token_hash=rules.token_hash(report.token), result__digest=digest(content[1]))
    standing: LateResult | None = same.first()
    if standing is not None or of_run.count() >= KEPT_PER_RUN:
        return standing

    return LateResult.objects.create(
        run=run,
        verb=verb,
        token_hash=rules.token_hash(report.token),
        generation=run.lease.generation,
        result=blobs.stored(project, [content], at)[content],
        created_at=at,
    )
