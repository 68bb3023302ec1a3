"""Effects as other verbs move them: applied along with a park or a completion, settled when their run is over."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery

from runs import journal
from runs.journal import SYSTEM, Actor
from runs.models import Effect, EffectAttempt, Event, Run
from runs.states import RUN_SCOPE, ActorType, EffectOutcome, EffectStatus
from runs.transitions import mutex

_FIELDS = ("status", "next_attempt_at", "error", "updated_at", "settled_at", "revision")


def pending_of_type(runs: Sequence[Run], effect_type: str) -> dict[int, list[Effect]]:
    """By run key: its pending effects of this type, of any scope, in order of their ids."""
    return _by_run(Effect.objects.filter(run__in=runs, effect_type=effect_type, status=EffectStatus.PENDING))


def unsettled(runs: Sequence[Run]) -> dict[int, list[Effect]]:
    """By run key: its own effects that are pending or applying, in order of their ids."""
    open_ones = [EffectStatus.PENDING, EffectStatus.APPLYING]
    return _by_run(Effect.objects.filter(run__in=runs, owner_scope=RUN_SCOPE, status__in=open_ones))


def applying(runs: Sequence[Run]) -> dict[int, list[Effect]]:
    """By run key: its own effects that are applying, in order of their ids."""
    return _by_run(Effect.objects.filter(run__in=runs, owner_scope=RUN_SCOPE, status=EffectStatus.APPLYING))


def doubted(run: Run, effects: Sequence[Effect], by: Actor, reason: str, at: datetime) -> list[Event]:
    """Move applying effects to ambiguous, in memory; their events."""
    events = []
    for effect in effects:
        _settle(effect, EffectStatus.AMBIGUOUS, at)
        effect.next_attempt_at = None
        payload = {"runId": run.run_id, "reason": reason}
        events.append(journal.entered_on_effect(run, effect, "effect.ambiguous", by, payload, at))
    return events


def applied(run: Run, effects: Sequence[Effect], at: datetime) -> list[Event]:
    """Move pending effects to applied, in memory; their events."""
    events = []
    for effect in effects:
        _settle(effect, EffectStatus.APPLIED, at)
        payload = {"runId": run.run_id, "effectType": effect.effect_type}
        events.append(journal.entered_on_effect(run, effect, "effect.applied", SYSTEM, payload, at))
    return events


def ended(run: Run, effects: Sequence[Effect], actor_id: str, reason: str, at: datetime) -> list[Event]:
    """Of a run that is over: pending effects are cancelled, applying ones ambiguous; in memory; their events."""
    events = []
    by = Actor(ActorType.CONTROL, actor_id)
    for effect in effects:
        is_applying = effect.status == EffectStatus.APPLYING
        _settle(effect, EffectStatus.AMBIGUOUS if is_applying else EffectStatus.CANCELLED, at)
        effect.next_attempt_at, effect.error = None, run.error
        payload = {"runId": run.run_id, "reason": reason}
        events.append(journal.entered_on_effect(run, effect, f"effect.{effect.status}", by, payload, at))
    return events


def write(effects: Mapping[int, Sequence[Effect]]) -> None:
    """Store moved effects, and interrupt the open tries of those that became ambiguous."""
    moved = [effect for group in effects.values() for effect in group]
    mutex.write(moved, _FIELDS)
    ambiguous = [effect for effect in moved if effect.status == EffectStatus.AMBIGUOUS]
    if ambiguous:
        EffectAttempt.objects.filter(effect__in=ambiguous, finished_at=None).update(
            outcome=EffectOutcome.INTERRUPTED, finished_at=_of_effect("settled_at"), error=_of_effect("error")
        )


def _settle(effect: Effect, status: EffectStatus, at: datetime) -> None:
    effect.status, effect.updated_at, effect.settled_at = status, at, at


def _by_run(effects: QuerySet[Effect]) -> dict[int, list[Effect]]:
    groups: dict[int, list[Effect]] = defaultdict(list)
    for effect in sorted(effects, key=lambda effect: effect.effect_id):
        groups[effect.run_id].append(effect)
    return groups


def _of_effect(field: str) -> Subquery:
    return Subquery(Effect.objects.filter(pk=OuterRef("effect_id")).values(field))
