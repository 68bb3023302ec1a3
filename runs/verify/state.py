"""The proofs about a run's own row and its lease: axes that agree, owners that are whole, what the rules derive."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Count, QuerySet

from runs import rules
from runs.models import Effect, HumanDecision, InteractiveRequest, Run
from runs.models.lease import OWNER_FIELDS, WISH_FIELDS
from runs.states import POSSIBLE_AXES, RUN_TERMINAL, QueueStatus, RequestStatus
from runs.verify.violation import Violation

_PAUSED_IN = frozenset({QueueStatus.PARKED, QueueStatus.STARTING, QueueStatus.RUNNING})


def states(runs: Sequence[Run]) -> Iterator[Violation]:
    """What is wrong in the rows of these runs and their leases."""
    requests = _counted(InteractiveRequest.objects.filter(run__in=runs, status=RequestStatus.PENDING))
    undecided = _counted(HumanDecision.objects.filter(run__in=runs, resolution=None))
    effects = _counted(Effect.objects.blocking().filter(run__in=runs))
    doubts = _counted(Effect.objects.in_doubt().filter(run__in=runs))
    for run in runs:
        pending = requests.get(run.pk, 0)
        open_work = rules.open_work(run, pending, undecided.get(run.pk, 0), effects.get(run.pk, 0))
        for rule, detail in (*_axes(run), *_owner(run), *_derived(run, pending, open_work)):
            yield Violation.of(run, rule, detail)
        if run.lease.effects_in_doubt != (in_doubt := rules.effects_in_doubt(run, doubts.get(run.pk, 0))):
            detail = f"its lease counts {run.lease.effects_in_doubt} effects in doubt of {in_doubt}"
            yield Violation.of(run, "derived", detail)


_Found = Iterator[tuple[str, str]]


def _axes(run: Run) -> _Found:
    if (run.status, run.queue_status) not in POSSIBLE_AXES:
        yield "axes", f"the run is {run.status} and its queue {run.queue_status}"
    if (run.status in RUN_TERMINAL) != (run.finished_at is not None):
        yield "axes", f"the run is {run.status} and finished at {run.finished_at}"
    if run.paused and run.queue_status not in _PAUSED_IN:
        yield "paused", f"the run is paused while its queue is {run.queue_status}"
    if run.parked_by_pause and not run.paused:
        yield "paused", "the run is parked by a pause and not paused"


def _owner(run: Run) -> _Found:
    lease = run.lease
    owned = [field for field in OWNER_FIELDS if getattr(lease, field) is not None]
    if owned and len(owned) < len(OWNER_FIELDS):
        yield "owner", f"of its lease only {', '.join(owned)} are set"
        return
    if (lease.project_id, lease.workflow_id, lease.priority) != (run.project_id, run.workflow_id, run.priority):
        yield "owner", "its lease is filed under another project, workflow or priority"
    if lease.acquired_at and lease.heartbeat_at and lease.expires_at:
        if lease.acquired_at > lease.heartbeat_at:
            yield "owner", f"its lease was acquired at {lease.acquired_at} and renewed at {lease.heartbeat_at}"
        if lease.takeover_at != lease.expires_at + timedelta(milliseconds=lease.backoff_ms):
            yield "owner", f"its takeover is due at {lease.takeover_at} and not {lease.backoff_ms} ms after its expiry"
        if lease.swept_token_hash is not None:
            yield "owner", "its lease has an owner and a swept one"
        if run.status in RUN_TERMINAL:
            yield "over", f"the run is {run.status} and held by {lease.owner_id}"
    else:
        kept = [field for field in ("takeover_at", *WISH_FIELDS) if getattr(lease, field) is not None]
        if kept:
            yield "owner", f"nobody holds it, and {', '.join(kept)} are set"
    if run.status in RUN_TERMINAL:
        flags = {"paused": run.paused, "parked_by_pause": run.parked_by_pause, "retry_at": lease.retry_at}
        for flag in [name for name, value in flags.items() if value]:
            yield "over", f"the run is {run.status} and {flag} is set"


def _derived(run: Run, pending_requests: int, open_work: int) -> _Found:
    lease = run.lease
    if lease.pending_requests != pending_requests:
        yield "derived", f"its lease counts {lease.pending_requests} pending requests of {pending_requests}"
    if lease.open_work != open_work:
        yield "derived", f"its lease counts {lease.open_work} open pieces of work of {open_work}"
    if lease.ready_at != (ready_at := rules.ready_at(run, lease)):
        yield "derived", f"its lease is ready at {lease.ready_at}, by the rule at {ready_at}"


def _counted(rows: QuerySet[Any]) -> dict[int, int]:
    return dict(rows.order_by().values_list("run_id").annotate(Count("pk")))
