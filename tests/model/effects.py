"""The model's effects: what is done outside, and what is known of it."""

from runs.states import EffectOutcome, EffectStatus, ErrorCode, QueueStatus
from tests.model import ending, guards
from tests.model.dependents import Effect, Try
from tests.model.model import Queue, Refused, Run


def reserve_effect(
    queue: Queue, run_id: str, token: str, key: str, effect_type: str, payload: str
) -> tuple[EffectStatus, bool]:
    """How the effect stands, and whether it was made now."""
    run = _held(queue, run_id, token)
    guards.running(run)
    effect = run.effects.get(key)
    if effect is None:
        run.effects[key] = Effect(effect_type, payload)
        return EffectStatus.PENDING, True
    if effect.payload != payload:
        raise Refused("effect_conflict")
    if _is_lost(run, effect):
        effect.doubt()
    return effect.status, False


def start_effect(queue: Queue, run_id: str, token: str, key: str) -> int | None:
    """The number of the try; none where an earlier holder's try is in doubt instead."""
    run = _held(queue, run_id, token)
    effect = _find(run, key)
    if _is_lost(run, effect):
        effect.doubt()
        return None
    if effect.status == EffectStatus.APPLYING:
        raise Refused("effect_applying")
    if effect.status != EffectStatus.PENDING:
        raise Refused("effect_settled")
    if effect.next_at is not None and effect.next_at > queue.now:
        raise Refused("effect_not_due")
    effect.tries.append(Try(run.lease.generation, run.lease.token))
    effect.move(EffectStatus.APPLYING)
    effect.next_at = None
    return len(effect.tries)


def report(
    queue: Queue, run_id: str, token: str, key: str, number: int, outcome: EffectOutcome, retry_in_ms: int | None = None
) -> None:
    """What came of a try: it is applied, rejected (perhaps to be tried again), or nobody knows."""
    run = queue.find(run_id)
    effect = run.effects.get(key)
    is_in_doubt = effect is not None and effect.status == EffectStatus.AMBIGUOUS
    if effect is not None and is_in_doubt and outcome != EffectOutcome.AMBIGUOUS and _is_own_try(effect, number, token):
        _settle_own(queue, run, effect, token, outcome)
        return
    guards.held(run, token, queue.now)
    effect = _find(run, key)
    _may_report(effect, number, run.lease.generation)
    effect.tries[-1].outcome = outcome
    effect.move(EffectStatus(outcome) if retry_in_ms is None else EffectStatus.PENDING)
    effect.next_at = None if retry_in_ms is None else queue.now + retry_in_ms
    if effect.status in (EffectStatus.APPLIED, EffectStatus.REJECTED):
        run.progress()


def _may_report(effect: Effect, number: int, generation: int) -> None:
    if effect.status not in (EffectStatus.PENDING, EffectStatus.APPLYING):
        raise Refused("effect_settled")
    is_tried = effect.status == EffectStatus.APPLYING and number == len(effect.tries)
    if not is_tried or effect.tries[-1].generation != generation:
        raise Refused("effect_not_applying")


def settle_own_try(queue: Queue, run_id: str, key: str, number: int, token: str, outcome: EffectOutcome) -> None:
    """The token of a try that is in doubt says what came of it, whoever holds the run by now."""
    run = queue.find(run_id)
    effect = run.effects.get(key)
    if effect is None or not _is_own_try(effect, number, token):
        raise Refused("not_own_try")
    _in_doubt(effect)
    _settle_own(queue, run, effect, token, outcome)


def settle_ambiguous(queue: Queue, run_id: str, key: str, outcome: EffectOutcome) -> None:
    """An operator says what came of it; also when the run is over."""
    run = queue.find(run_id)
    effect = _find(run, key)
    _in_doubt(effect)
    _settle(queue, run, effect, outcome)


def doubt_lost(queue: Queue, run_id: str, token: str) -> int:
    """How many effects earlier holders left applying."""
    run = _held(queue, run_id, token)
    lost = [effect for effect in run.effects.values() if effect.scope == "run" and _is_lost(run, effect)]
    for effect in lost:
        effect.doubt()
    return len(lost)


def settle_type(queue: Queue, run_id: str, effect_type: str) -> int:
    """How many pending effects of this type were applied."""
    run = queue.find(run_id)
    pending = [effect for effect in run.effects.values() if effect.status == EffectStatus.PENDING]
    ending.apply_pending(run, effect_type)
    return sum(effect.effect_type == effect_type for effect in pending)


def _settle_own(queue: Queue, run: Run, effect: Effect, token: str, outcome: EffectOutcome) -> None:
    lease, tried = run.lease, effect.tries[-1]
    is_holder = lease.is_live(queue.now) and not lease.is_overruled(queue.now) and lease.token == token
    tried.outcome = outcome
    _settle(queue, run, effect, outcome)
    if is_holder and tried.generation == lease.generation:
        run.progress()


def _settle(queue: Queue, run: Run, effect: Effect, outcome: EffectOutcome) -> None:
    """A run that is parked for the last effect in doubt, and asks nobody anything, goes on; a paused one later."""
    effect.move(EffectStatus(outcome))
    is_parked_for_it = (run.queue_status, run.error_code) == (QueueStatus.PARKED, ErrorCode.EFFECT_AMBIGUOUS)
    others = any(each.scope == "run" and each.status == EffectStatus.AMBIGUOUS for each in run.effects.values())
    if run.is_over or not is_parked_for_it or run.is_asked or run.is_undecided or others:
        return
    run.error_code = None
    run.revision += 1
    if run.paused:
        run.parked_by_pause = True
    else:
        run.queue_status, run.available_at = QueueStatus.QUEUED, queue.now


def _held(queue: Queue, run_id: str, token: str) -> Run:
    run = queue.find(run_id)
    guards.held(run, token, queue.now)
    return run


def _find(run: Run, key: str) -> Effect:
    if key not in run.effects:
        raise Refused("not_found")
    return run.effects[key]


def _in_doubt(effect: Effect) -> None:
    if effect.status in (EffectStatus.PENDING, EffectStatus.APPLYING):
        raise Refused("effect_not_ambiguous")
    if effect.status != EffectStatus.AMBIGUOUS:
        raise Refused("effect_settled")


def _is_lost(run: Run, effect: Effect) -> bool:
    """Whether it applies under a holder that another one has followed."""
    return effect.status == EffectStatus.APPLYING and effect.tries[-1].generation < run.lease.generation


def _is_own_try(effect: Effect, number: int, token: str) -> bool:
    return number == len(effect.tries) > 0 and effect.tries[-1].token == token
