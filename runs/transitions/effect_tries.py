"""Trying effects: a numbered try under the present lease, and what its runner says came of it."""

from typing import Any

from runs import clock, rules, rules_effects
from runs.models import Effect, EffectAttempt, Project
from runs.states import EffectOutcome, EffectStatus
from runs.transitions import crashes, effect_rows, effect_settlement, mutex
from runs.transitions.effect_settlement import Report
from runs.transitions.mutex import Hold, transition
from runs.verbs import WRITE_EFFECT

_EVENTS = {
    EffectStatus.APPLIED: "effect.applied",
    EffectStatus.PENDING: "effect.retried",
    EffectStatus.REJECTED: "effect.rejected",
    EffectStatus.AMBIGUOUS: "effect.ambiguous",
}


@transition
def start_effect(project: Project, hold: Hold, effect_id: str) -> tuple[Effect, int | None]:
    """The effect and the number of the try that begins now; None where a lost runner's try is in doubt instead.

    Refuses an effect that is over, not due or being tried already, and whoever does not hold the run.
    """
    run, at = effect_rows.held(project, hold, WRITE_EFFECT)

    standing = effect_rows.needed(run, effect_id)
    effect = standing.effect
    if standing.is_lost(run):
        effect_rows.conclude(run, effect_rows.lose(project, run, [standing], at))
        return effect, None
    rules_effects.may_start(effect, at)

    effect_rows.move(run, effect, EffectStatus.APPLYING, at, error=effect.error)
    effect.attempt_count += 1
    attempt = EffectAttempt(
        effect=effect,
        number=effect.attempt_count,
        generation=run.lease.generation,
        owner_id=run.lease.owner_id,
        token_hash=run.lease.token_hash,
        started_at=at,
    )
    event = effect_rows.by_holder(run, effect, "effect.started", at, attempt=attempt)
    mutex.write([effect], effect_rows.FIELDS)
    attempt.save(force_insert=True)

    effect_rows.conclude(run, [event])
    return effect, attempt.number


def apply_effect(project: Project, hold: Hold, effect_id: str, number: int, result: Any = None) -> Effect:
    """Store what the outside answered: the effect has happened, once and for all.

    Refuses whoever does not hold the run, save that the token of this very try may settle it while it is in doubt.
    """
    return _reported(project, hold, effect_id, number, Report(EffectOutcome.APPLIED, result=result))


def reject_effect(
    project: Project, hold: Hold, effect_id: str, number: int, error: str, retry_in_ms: int | None = None
) -> Effect:
    """Say that a try did not happen. With a retry the effect is pending again, without one it is rejected for good.

    Refuses whoever does not hold the run, save that the token of this very try may settle it while it is in doubt;
    then always for good.
    """
    return _reported(
        project, hold, effect_id, number, Report(EffectOutcome.REJECTED, error=error, retry_in_ms=retry_in_ms)
    )


def doubt_effect(project: Project, hold: Hold, effect_id: str, number: int, detail: str) -> Effect:
    """Say that nobody knows whether a try happened: only a person goes on from there.

    Refuses whoever does not hold the run.
    """
    return _reported(project, hold, effect_id, number, Report(EffectOutcome.AMBIGUOUS, error=detail))


@transition
def _reported(project: Project, hold: Hold, effect_id: str, number: int, report: Report) -> Effect:
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())

    late = effect_rows.find(run, effect_id) if report.settles else None
    if late is not None and effect_settlement.is_late(late, number, hold.token):
        effect_settlement.by_own_try(project, run, late, hold.token, report, at)
        return late.effect
    rules.permit(WRITE_EFFECT, run, run.lease, at, token=hold.token)
    standing = late or effect_rows.needed(run, effect_id)
    effect = standing.effect
    attempt = rules_effects.may_report(effect, standing.latest, number, run.lease.generation)
    retry_at = None if report.retry_in_ms is None else rules_effects.retry_at(at, report.retry_in_ms)

    result, error = effect_settlement.stored(project, report, at)
    status = EffectStatus(report.outcome) if retry_at is None else EffectStatus.PENDING
    effect_rows.end(attempt, report.outcome, at, error)
    effect_rows.move(run, effect, status, at, result=result, error=error)
    effect.next_attempt_at = retry_at
    is_over = status in (EffectStatus.APPLIED, EffectStatus.REJECTED)
    if is_over:
        crashes.progressed(run)
    event = effect_rows.by_holder(
        run,
        effect,
        _EVENTS[status],
        at,
        attempt=attempt,
        error=None if report.error is None else rules.detail(report.error),
        retryAt=None if retry_at is None else clock.to_ms(retry_at),
        reason="runnerDoubts" if status == EffectStatus.AMBIGUOUS else None,
    )
    mutex.write([attempt], effect_rows.TRY_FIELDS)
    mutex.write([effect], effect_rows.FIELDS)

    effect_rows.conclude(run, [event], progressed=is_over)
    return effect
