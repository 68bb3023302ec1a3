"""Settling effects that are in doubt: by an operator, or by a late report of the try itself. The run may be over."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs import clock, errors, journal, rules, rules_effects
from runs.journal import Actor
from runs.models import Blob, Effect, EffectAttempt, Event, HumanDecision, Project, Run
from runs.states import RUN_SCOPE, ActorType, EffectOutcome, EffectStatus, QueueStatus
from runs.transitions import blobs, crashes, effect_rows, mutex
from runs.transitions.effect_rows import Standing
from runs.transitions.mutex import transition

EVIDENCE_LIMIT = 65_536  # bytes of canonical JSON
_OFFERED_FIELDS = (
    "queue_status",
    "queue_updated_at",
    "available_at",
    "error_code",
    "queue_error",
    "parked_by_pause",
    "updated_at",
)


@dataclass(frozen=True, slots=True)
class Report:
    """What came of one try."""

    outcome: EffectOutcome
    result: Any = None
    error: str | None = None
    retry_in_ms: int | None = None

    @property
    def settles(self) -> bool:
        """Whether it says that the effect has happened, or that it has not."""
        return self.outcome in (EffectOutcome.APPLIED, EffectOutcome.REJECTED)


@transition
def settle_ambiguous_effect(
    project: Project,
    run_id: str,
    effect_id: str,
    outcome: EffectOutcome,
    by: Actor,
    reason: str,
    evidence: Any = None,
) -> Effect:
    """Say as an operator whether an effect in doubt has happened; once, and also when the run is over.

    For an applied one the evidence stands as its result, which is what the run gets. A run that is parked for it and
    has no other effect in doubt is offered again.
    """
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    settled = _settling(outcome)
    rules_effects.reason(reason)
    if evidence is not None:
        blobs.encoded(evidence, EVIDENCE_LIMIT)
    effect = effect_rows.needed(run, effect_id).effect
    rules_effects.may_settle(effect)

    is_applied = settled is EffectOutcome.APPLIED
    report = Report(settled, result=evidence) if is_applied else Report(settled, error=reason)
    _settle(project, run, effect, report, by, at, {"reason": reason, "evidence": evidence})
    return effect


@transition
def settle_own_try(
    project: Project,
    run_id: str,
    effect_id: str,
    number: int,
    token: str,
    outcome: EffectOutcome,
    *,
    result: Any = None,
    error: str | None = None,
) -> Effect:
    """Say what came of one's own try that is in doubt; once, and also when the run is another's by now, or over.

    `token` is the one that the lease had when the try was made. Refuses every other token and every other try.
    """
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    settled = _settling(outcome)
    standing = effect_rows.find(run, effect_id)
    if standing is None or not rules_effects.is_own(standing.latest, number, token):
        raise errors.NotOwnTry(run_id=run_id, effect_id=effect_id, number=number)
    rules_effects.may_settle(standing.effect)

    by_own_try(project, run, standing, token, Report(settled, result, error), at)
    return standing.effect


def is_late(standing: Standing, number: int, token: str | None) -> bool:
    """Whether a report with this token is one of the try itself that is in doubt."""
    is_in_doubt = standing.effect.status == EffectStatus.AMBIGUOUS
    return is_in_doubt and rules_effects.is_own(standing.latest, number, token)


def by_own_try(project: Project, run: Run, standing: Standing, token: str | None, report: Report, at: datetime) -> None:
    """Settle the effect as its own try reports."""
    attempt = standing.latest
    assert attempt is not None, "the try is known to be the caller's own"
    owner_id = attempt.owner_id or ""
    # Still held by who made the try: then something was done under this generation.
    is_present = attempt.generation == run.lease.generation and rules.is_held(run.lease, token, at)
    facts = {"reason": "lateReport", "error": None if report.error is None else rules.detail(report.error)}

    actor = Actor(ActorType(rules.owner_type(owner_id)), owner_id)
    _settle(project, run, standing.effect, report, actor, at, facts, attempt=attempt, progressed=is_present)


def _settle(
    project: Project,
    run: Run,
    effect: Effect,
    report: Report,
    by: Actor,
    at: datetime,
    facts: dict[str, Any],
    *,
    attempt: EffectAttempt | None = None,
    progressed: bool = False,
) -> None:
    result, error = stored(project, report, at)
    if attempt is not None:
        effect_rows.end(attempt, report.outcome, at, error)
        mutex.write([attempt], effect_rows.TRY_FIELDS)
    effect_rows.move(run, effect, EffectStatus(report.outcome), at, result=result, error=error)
    if progressed:
        crashes.progressed(run)
    events = [effect_rows.entered(run, effect, f"effect.{report.outcome}", by, at, attempt=attempt, **facts)]
    mutex.write([effect], effect_rows.FIELDS)

    resumed = _offered_again(run, by, at)
    effect_rows.conclude(run, events + resumed, progressed=progressed, run_fields=_OFFERED_FIELDS if resumed else ())


def stored(project: Project, report: Report, at: datetime) -> tuple[Blob | None, Blob | None]:
    """The stored result and error of a report."""
    result = blobs.document(report.result) if report.outcome is EffectOutcome.APPLIED else None
    error = None if report.error is None else blobs.text(report.error)
    rows = blobs.stored(project, [content for content in (result, error) if content is not None], at)
    return rows.get(result) if result else None, rows.get(error) if error else None


def _settling(outcome: EffectOutcome) -> EffectOutcome:
    if outcome not in (EffectOutcome.APPLIED, EffectOutcome.REJECTED):
        raise errors.Invalid("An effect in doubt is settled as applied or rejected.", outcome=outcome)
    return EffectOutcome(outcome)


def _waits_for_more(run: Run) -> bool:
    """Whether another effect is in doubt or a person has still to decide."""
    in_doubt = Effect.objects.in_doubt().filter(run=run, owner_scope=RUN_SCOPE)
    return in_doubt.exists() or HumanDecision.objects.filter(run=run, resolution=None).exists()


def _offered_again(run: Run, by: Actor, at: datetime) -> list[Event]:
    """The event of a run that goes on now that its effect is settled; a paused one goes on when it is unpaused."""
    if not rules_effects.waits_for_effect(run, run.lease.pending_requests) or _waits_for_more(run):
        return []
    if run.paused:
        run.parked_by_pause = True
    else:
        run.queue_status, run.available_at = QueueStatus.QUEUED, at
    run.updated_at = run.queue_updated_at = at
    run.error_code = run.queue_error = None
    run.lease.ready_at = rules.ready_at(run, run.lease)
    payload = {"status": run.queue_status, "paused": run.paused}
    return [journal.entered(run, "run.resume_requested", by, payload, at, generation=0)]
