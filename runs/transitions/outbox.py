"""Effects as other verbs move them: applied along with a park or a completion, settled when their run is over."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import Prefetch, QuerySet

from runs import journal
from runs.journal import SYSTEM, Actor
from runs.models import Effect, EffectAttempt, Event, Run
from runs.states import RUN_SCOPE, ActorType, EffectOutcome, EffectStatus
from runs.transitions import derived, mutex

_TRY_FIELDS = ("outcome", "finished_at", "error")
_OPEN_TRIES = "open_tries"
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
        _settle(run, effect, EffectStatus.AMBIGUOUS, at)
        payload = {"runId": run.run_id, "reason": reason}
        tries = _interrupted(effect, at)
        events.append(journal.entered_on_effect(run, effect, "effect.ambiguous", by, payload, at, moved=tries))
    return events


def applied(run: Run, effects: Sequence[Effect], at: datetime) -> list[Event]:
    """Move pending effects to applied, in memory; their events."""
    events = []
    for effect in effects:
        _settle(run, effect, EffectStatus.APPLIED, at)
        payload = {"runId": run.run_id, "effectType": effect.effect_type}
        events.append(journal.entered_on_effect(run, effect, "effect.applied", SYSTEM, payload, at))
    return events


def ended(run: Run, effects: Sequence[Effect], actor_id: str, reason: str, at: datetime) -> list[Event]:
    """Of a run that is over: pending effects are cancelled, applying ones ambiguous; in memory; their events."""
    events = []
    by = Actor(ActorType.CONTROL, actor_id)
    for effect in effects:
        is_applying = effect.status == EffectStatus.APPLYING
        _settle(run, effect, EffectStatus.AMBIGUOUS if is_applying else EffectStatus.CANCELLED, at)
        effect.error = run.error
        tries = _interrupted(effect, at) if is_applying else []
        payload = {"runId": run.run_id, "reason": reason}
        event = journal.entered_on_effect(run, effect, f"effect.{effect.status}", by, payload, at, moved=tries)
        events.append(event)
    return events


def write(effects: Mapping[int, Sequence[Effect]]) -> None:
    """Store moved effects, and the open tries of those that became ambiguous."""
    moved = [effect for group in effects.values() for effect in group]
    mutex.write(moved, _FIELDS)
    doubtful = [effect for effect in moved if effect.status == EffectStatus.AMBIGUOUS]
    mutex.write([attempt for effect in doubtful for attempt in _open_tries(effect)], _TRY_FIELDS)


def _settle(run: Run, effect: Effect, status: EffectStatus, at: datetime) -> None:
    derived.effect_moves(run, effect, status)
    effect.status, effect.updated_at, effect.settled_at = status, at, at
    if status != EffectStatus.APPLIED:
        effect.next_attempt_at = None


def _interrupted(effect: Effect, at: datetime) -> list[EffectAttempt]:
    """The open try of an effect, one at most, interrupted in memory."""
    for attempt in _open_tries(effect):
        attempt.outcome, attempt.finished_at, attempt.error = EffectOutcome.INTERRUPTED, at, effect.error
    return _open_tries(effect)


def _open_tries(effect: Effect) -> list[EffectAttempt]:
    """As they were read along with the effect."""
    tries: list[EffectAttempt] = getattr(effect, _OPEN_TRIES)
    return tries


def _by_run(effects: QuerySet[Effect]) -> dict[int, list[Effect]]:
    groups: dict[int, list[Effect]] = defaultdict(list)
    open_tries = Prefetch("attempts", EffectAttempt.objects.filter(finished_at=None), to_attr=_OPEN_TRIES)
    effects = effects.select_related("error").prefetch_related(open_tries)
    for effect in sorted(effects, key=lambda effect: effect.effect_id):
        groups[effect.run_id].append(effect)
    return groups
