"""What the verbs on single effects share: finding one with its latest try, moving it, and storing all of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs import clock, errors, journal, rules, rules_effects
from runs.journal import Actor
from runs.models import Blob, Effect, EffectAttempt, Event, Project, Run
from runs.states import EffectOutcome, EffectStatus
from runs.transitions import blobs, crashes, derived, mutex
from runs.transitions.mutex import Hold
from runs.verbs import Verb

RUNNER_LOST = "The runner lost the run before it reported what came of this try."
FIELDS = (
    "status",
    "result",
    "error",
    "attempt_count",
    "next_attempt_at",
    "revision",
    "updated_at",
    "settled_at",
)
TRY_FIELDS = ("outcome", "error", "finished_at")


def held(project: Project, hold: Hold, verb: Verb) -> tuple[Run, datetime]:
    """The locked run and the time. Refuses whoever does not hold the run, and where `verb` is not allowed."""
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())
    rules.permit(verb, run, run.lease, at, token=hold.token)
    return run, at


@dataclass(frozen=True, slots=True)
class Standing:
    """An effect and its latest try: the open one, the one in doubt, or how the effect ended."""

    effect: Effect
    latest: EffectAttempt | None

    def is_lost(self, run: Run) -> bool:
        """Whether the effect applies under a holder before the present one."""
        return rules_effects.is_lost(self.effect, self.latest, run.lease.generation)


def find(run: Run, effect_id: str) -> Standing | None:
    """An effect of this run as it stands."""
    effect = Effect.objects.with_answer().filter(run=run, effect_id=effect_id).first()
    if effect is None:
        return None
    return Standing(effect, EffectAttempt.objects.filter(effect=effect, number=effect.attempt_count).first())


def needed(run: Run, effect_id: str) -> Standing:
    """The same. Refuses where there is none."""
    standing = find(run, effect_id)
    if standing is None:
        raise errors.EffectNotFound(run_id=run.run_id, effect_id=effect_id)
    return standing


def move(
    run: Run,
    effect: Effect,
    status: EffectStatus,
    at: datetime,
    *,
    result: Blob | None = None,
    error: Blob | None = None,
) -> None:
    """Move an effect in memory, and what the run's lease counts of it; what it carried from before goes."""
    derived.effect_moves(run, effect, status)
    effect.status, effect.updated_at = status, at
    effect.settled_at = None if status in (EffectStatus.PENDING, EffectStatus.APPLYING) else at
    effect.next_attempt_at, effect.result, effect.error = None, result, error


def end(attempt: EffectAttempt, outcome: EffectOutcome, at: datetime, error: Blob | None = None) -> None:
    """Say in memory what came of a try."""
    attempt.outcome, attempt.finished_at, attempt.error = outcome, at, error


def lose(project: Project, run: Run, lost: Sequence[Standing], at: datetime) -> list[Event]:
    """Of effects whose runner has been followed by another: they are in doubt. Stores them; their events."""
    if not lost:
        return []
    text = blobs.text(RUNNER_LOST)
    why = blobs.stored(project, [text], at)[text]
    events = []
    for standing in lost:
        move(run, standing.effect, EffectStatus.AMBIGUOUS, at, error=why)
        if standing.latest is not None:
            end(standing.latest, EffectOutcome.INTERRUPTED, at, why)
        facts = {"reason": "runnerLost", "error": RUNNER_LOST}
        events.append(by_holder(run, standing.effect, "effect.ambiguous", at, attempt=standing.latest, **facts))
    mutex.write([standing.effect for standing in lost], FIELDS)
    mutex.write([standing.latest for standing in lost if standing.latest is not None], TRY_FIELDS)
    return events


def by_holder(
    run: Run, effect: Effect, type: str, at: datetime, *, attempt: EffectAttempt | None = None, **facts: Any
) -> Event:
    """An event of the run's holder on this effect, and the try that has moved along with it."""
    actor, generation = journal.owner_of(run.lease), run.lease.generation
    return entered(run, effect, type, actor, at, generation=generation, attempt=attempt, **facts)


def entered(
    run: Run,
    effect: Effect,
    type: str,
    actor: Actor,
    at: datetime,
    *,
    generation: int = 0,
    attempt: EffectAttempt | None = None,
    **facts: Any,
) -> Event:
    """An event on this effect with what all of them tell; `number` is that of the latest try, 0 before the first."""
    if attempt is not None:
        attempt.effect = effect
    payload = {
        "runId": run.run_id,
        "effectType": effect.effect_type,
        "number": effect.attempt_count,
        **{name: fact for name, fact in facts.items() if fact is not None},
    }
    moved = [] if attempt is None else [attempt]
    return journal.entered_on_effect(run, effect, type, actor, payload, at, generation=generation, moved=moved)


def conclude(run: Run, events: Sequence[Event], *, progressed: bool = False, run_fields: Sequence[str] = ()) -> None:
    """Store what follows for the run from effects that are stored already, and write the events."""
    if not events:
        return
    run_fields = [*run_fields, *journal.HEAD_FIELDS]
    lease_fields = list(derived.DERIVED_FIELDS)
    if progressed:
        run_fields += crashes.RUN_FIELDS
        lease_fields += crashes.LEASE_FIELDS
    mutex.write([run.lease], lease_fields)
    mutex.write([run], run_fields)
    journal.write(events)
