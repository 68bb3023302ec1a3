"""What the lease row keeps about the rest of a run: its pending requests, its open work, and when it is ready."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, QuerySet

from runs import rules, rules_effects
from runs.models import Effect, HumanDecision, InteractiveRequest, Run
from runs.states import RUN_SCOPE, EffectStatus, RequestStatus

DERIVED_FIELDS = ("pending_requests", "open_work", "effects_in_doubt", "ready_at")


def refresh(runs: Sequence[Run]) -> None:
    """Derive these members anew, in memory: four statements, however many runs. The rows must be stored already."""
    if not runs:
        return
    requests = _counted(InteractiveRequest.objects.filter(run__in=runs, status=RequestStatus.PENDING))
    undecided = _counted(HumanDecision.objects.filter(run__in=runs, resolution=None))
    effects = _counted(Effect.objects.blocking().filter(run__in=runs))
    in_doubt = _counted(Effect.objects.in_doubt().filter(run__in=runs))
    for run in runs:
        pending = requests.get(run.pk, 0)
        run.lease.pending_requests = pending
        run.lease.open_work = rules.open_work(run, pending, undecided.get(run.pk, 0), effects.get(run.pk, 0))
        run.lease.effects_in_doubt = rules.effects_in_doubt(run, in_doubt.get(run.pk, 0))
        run.lease.ready_at = rules.ready_at(run, run.lease)


def effect_moves(run: Run, effect: Effect, status: str) -> None:
    """Count, in memory, that an effect of this run moves to `status`; a new one from nothing."""
    before = None if effect.is_new else effect.status
    lease, kind = run.lease, effect.effect_type
    if rules.has_ended(run):
        return  # Nothing forbids or explains anything any more.
    lease.effects_in_doubt += (status == EffectStatus.AMBIGUOUS) - (before == EffectStatus.AMBIGUOUS)
    if effect.owner_scope == RUN_SCOPE:
        lease.open_work += rules_effects.is_blocking(kind, status) - rules_effects.is_blocking(kind, before)


def is_ready_anew(run: Run) -> bool:
    """Whether the run is ready at another time than its lease says; moves it, in memory."""
    before, run.lease.ready_at = run.lease.ready_at, rules.ready_at(run, run.lease)
    return before != run.lease.ready_at


def _counted(rows: QuerySet[Any]) -> dict[int, int]:
    return dict(rows.order_by().values_list("run_id").annotate(Count("pk")))
