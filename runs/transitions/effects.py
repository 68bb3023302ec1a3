"""Reserving effects of the outbox: what a run is going to do outside, written down before it is done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs import canonical, clock, errors, journal, rules_effects
from runs.models import Effect, EffectAttempt, Project, Run
from runs.states import RUN_SCOPE, EffectStatus
from runs.transitions import blobs, derived, effect_rows, mutex, outbox
from runs.transitions.blobs import Content
from runs.transitions.effect_rows import Standing
from runs.transitions.mutex import Hold, transition
from runs.verbs import RESERVE_EFFECT, WRITE_EFFECT


@dataclass(frozen=True, slots=True)
class EffectReservation:
    """What is to be done outside; type and key tell the effect from all others of the run."""

    effect_type: str
    idempotency_key: str
    payload: Any = None


# The effect, and whether it was made now.
ReservedEffect = tuple[Effect, bool]


def reserve_effect(project: Project, hold: Hold, asked: EffectReservation) -> ReservedEffect:
    """The effect of this type and key, and whether it was made now.

    One that stands already is adopted, however it stands, an applied one with its result; one that a lost runner left
    applying becomes ambiguous. Refuses another payload, and whoever does not hold the run.
    """
    (outcome,) = reserve_effects(project, hold, [asked])
    if isinstance(outcome, errors.Refusal):
        raise outcome
    return outcome


@transition
def reserve_effects(
    project: Project, hold: Hold, asked: Sequence[EffectReservation]
) -> list[ReservedEffect | errors.Refusal]:
    """The same for many effects of one run at once, with an outcome for each in the order asked."""
    mutex.check_batch(asked)
    run, at = effect_rows.held(project, hold, RESERVE_EFFECT)

    prepared = [_prepared(run, each) for each in asked]
    decided = _Decided(run, [each for each in prepared if isinstance(each, _Prepared)], at)
    outcomes = [each if isinstance(each, errors.Refusal) else decided.outcome_of(each) for each in prepared]

    stored = blobs.stored(project, decided.payloads.values(), at)
    made = list(decided.made.values())
    for effect in made:
        effect.payload = stored[decided.payloads[effect.effect_id]]
    events = effect_rows.lose(project, run, [*decided.lost.values()], at)
    for effect in made:
        derived.effect_moves(run, effect, EffectStatus.PENDING)
        events.append(effect_rows.by_holder(run, effect, "effect.reserved", at, idempotencyKey=effect.idempotency_key))
    Effect.objects.bulk_create(made)

    effect_rows.conclude(run, events)
    return outcomes


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A reservation that is well-formed."""

    asked: EffectReservation
    effect_id: str
    payload: Content
    payload_digest: bytes


def _prepared(run: Run, asked: EffectReservation) -> _Prepared | errors.Refusal:
    try:
        effect_type = rules_effects.effect_type(asked.effect_type)
        key = rules_effects.idempotency_key(asked.idempotency_key)
        payload = blobs.document(asked.payload)
    except errors.Refusal as refusal:
        return refusal
    return _Prepared(
        asked, rules_effects.effect_id(run.run_id, effect_type, key), payload, canonical.digest(payload[1])
    )


class _Decided:
    """What becomes of a batch, in memory: which effects stand, which of them are lost, which are new."""

    def __init__(self, run: Run, batch: Sequence[_Prepared], at: datetime) -> None:
        """Three statements, however many effects."""
        self._run, self._at = run, at
        mine = Effect.objects.filter(run=run)
        keys = [each.effect_id for each in batch]
        self._standing = {effect.effect_id: effect for effect in mine.with_answer().filter(effect_id__in=keys)}
        applying = [effect for effect in self._standing.values() if effect.status == EffectStatus.APPLYING]
        self._tries = {
            attempt.effect_id: attempt
            for attempt in EffectAttempt.objects.filter(effect__in=applying, finished_at=None)
        }
        is_full_of_old = len(self._standing) == len(set(keys))
        self._room = 0 if is_full_of_old else rules_effects.EFFECT_LIMIT - mine.count()
        self._digests = {key: _payload_digest(effect) for key, effect in self._standing.items()}
        self.made: dict[str, Effect] = {}
        self.payloads: dict[str, Content] = {}
        self.lost: dict[str, Standing] = {}

    def outcome_of(self, item: _Prepared) -> ReservedEffect | errors.Refusal:
        """The effect that answers, standing or new."""
        effect = self._standing.get(item.effect_id)
        if effect is None:
            return self._new(item)
        if self._digests[item.effect_id] != item.payload_digest:
            return errors.EffectConflict(effect_id=effect.effect_id, effect_status=effect.status)
        standing = Standing(effect, self._tries.get(effect.pk))
        if standing.is_lost(self._run):
            self.lost[item.effect_id] = standing
        return effect, False

    def _new(self, item: _Prepared) -> ReservedEffect | errors.Refusal:
        if len(self.made) >= self._room:
            return errors.TooManyEffects(run_id=self._run.run_id, limit=rules_effects.EFFECT_LIMIT)
        effect = Effect(
            run=self._run,
            effect_id=item.effect_id,
            effect_type=item.asked.effect_type,
            idempotency_key=item.asked.idempotency_key,
            created_at=self._at,
            updated_at=self._at,
        )
        self.made[item.effect_id] = self._standing[item.effect_id] = effect
        self.payloads[item.effect_id] = item.payload
        self._digests[item.effect_id] = item.payload_digest
        return effect, True


def _payload_digest(effect: Effect) -> bytes:
    return bytes(effect.payload.digest) if effect.payload else canonical.digest(b"null")


@transition
def doubt_lost_effects(project: Project, hold: Hold) -> list[Effect]:
    """The effects that an earlier holder left applying, ambiguous from now on. Refuses whoever does not hold the run.

    Without it only reserving or starting such an effect again would show that it waits for a person.
    """
    run, at = effect_rows.held(project, hold, WRITE_EFFECT)

    open_ones = EffectAttempt.objects.filter(effect__run=run, finished_at=None)
    latest = {attempt.effect_id: attempt for attempt in open_ones}
    applying = Effect.objects.with_answer().filter(run=run, owner_scope=RUN_SCOPE, status=EffectStatus.APPLYING)
    standing = [Standing(effect, latest.get(effect.pk)) for effect in applying.order_by("pk")]
    lost = [each for each in standing if each.is_lost(run)]

    effect_rows.conclude(run, effect_rows.lose(project, run, lost, at))
    return [each.effect for each in lost]


@transition
def settle_effect(project: Project, run_id: str, effect_type: str) -> int:
    """Apply a run's pending effects of this type; how many there were. For effects of the queue's own bookkeeping."""
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    effects = outbox.pending_of_type([run], effect_type)
    events = outbox.applied(run, effects.get(run.pk, ()), at)
    outbox.write(effects)
    if events:
        mutex.write([run.lease], derived.DERIVED_FIELDS)
        # Not the revision: the run itself did not move.
        mutex.write([run], ["head_digest", "head_at"])

    journal.write(events)
    return len(events)
