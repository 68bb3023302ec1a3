"""Pure decisions about effects: what they are called, and what may happen to one as it stands. No database."""

import hashlib
import hmac
import re
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from runs import canonical, errors, rules
from runs.states import (
    EFFECT_NEEDS,
    EFFECT_SETTLED,
    PARK_EFFECT,
    SETTLE_EFFECT,
    EffectStatus,
    ErrorCode,
    QueueStatus,
)

EFFECT_LIMIT = 10_000  # of one run
NAME_LIMIT = 200  # characters of a type or a key
REASON_LIMIT = 2_000  # characters
RETRY_LIMIT_MS = 30 * 24 * 3_600_000
OWN_TYPES = frozenset({PARK_EFFECT, SETTLE_EFFECT})
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class EffectFacts(Protocol):
    """What the rules look at in an effect."""

    effect_id: str
    status: str
    attempt_count: int
    next_attempt_at: datetime | None


class TryFacts(Protocol):
    """What the rules look at in one try of an effect."""

    number: int
    generation: int
    token_hash: bytes | memoryview | None


T = TypeVar("T", bound=TryFacts)


class WaitingFacts(Protocol):
    """What the rules look at in a run that may wait for an effect to be settled."""

    status: str
    queue_status: str
    error_code: str | None


def effect_type(value: str) -> str:
    """`value`, if a caller may reserve effects of this type."""
    if value in OWN_TYPES:
        raise errors.Invalid(f"Effects of the type {value} are the queue's own.", effect_type=value)
    return _name("effect_type", value)


def idempotency_key(value: str) -> str:
    """`value`, if it can tell one effect from another."""
    return _name("idempotency_key", value)


def _name(member: str, value: str) -> str:
    is_name = 0 < len(value) <= NAME_LIMIT and value == value.strip() and not _CONTROL.search(value)
    if not is_name:
        raise errors.InvalidEffectName(member=member)
    try:
        return canonical.check_text(value)
    except canonical.DocumentError as error:
        raise errors.InvalidEffectName(error.message.capitalize() + ".", member=member) from None


def effect_id(run_id: str, effect_type: str, key: str) -> str:
    """The id of an effect, which a caller can work out as well: SHA-256 in hexadecimal over the text form of these."""
    return _digest(run_id, effect_type, key)


def outside_key(run_key: int, effect_type: str, key: str) -> str:
    """What tells the effect from all others outside: runs of other projects, or of deleted ones, may share a run id."""
    return _digest(str(run_key), effect_type, key)


def _digest(*members: str) -> str:
    # Netstrings, each member's length in bytes, a colon and its text: no two lists of members read alike.
    parts = [member.encode() for member in members]
    return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).hexdigest()


def reason(value: str) -> str:
    """Why an operator settles an effect; nobody settles one without saying so."""
    if not value.strip() or len(value) > REASON_LIMIT:
        raise errors.Invalid(
            f"Settling an effect needs a reason of at most {REASON_LIMIT} characters.", member="reason"
        )
    return value


def retry_at(at: datetime, retry_in_ms: int) -> datetime:
    """When a rejected try may be followed by another one."""
    if not 0 <= retry_in_ms <= RETRY_LIMIT_MS:
        raise errors.Invalid(f"A retry comes after 0 to {RETRY_LIMIT_MS} ms.", retry_in_ms=retry_in_ms)
    return at + timedelta(milliseconds=retry_in_ms)


def is_blocking(effect_type: str, status: str | None) -> bool:
    """Whether a run's own effect forbids completing it; a pending one of the queue's settling is applied by that."""
    if status == EffectStatus.PENDING:
        return effect_type != SETTLE_EFFECT
    return status in (EffectStatus.APPLYING, EffectStatus.AMBIGUOUS)


def is_lost(effect: EffectFacts, attempt: TryFacts | None, generation: int) -> bool:
    """Whether the effect applies under a holder that has been followed by another: nobody will say what came of it."""
    return effect.status == EffectStatus.APPLYING and (attempt is None or attempt.generation < generation)


def is_own(attempt: TryFacts | None, number: int, token: str | None) -> bool:
    """Whether `token` is the one that the lease had when this try was made; compared in constant time."""
    if attempt is None or attempt.number != number or attempt.token_hash is None or token is None:
        return False
    return hmac.compare_digest(bytes(attempt.token_hash), rules.token_hash(token))


def may_start(effect: EffectFacts, at: datetime) -> None:
    """Refuse an effect that is over, is being tried, or is not due."""
    _stands(effect, "start_effect")
    if effect.next_attempt_at is not None and effect.next_attempt_at > at:
        left_ms = (effect.next_attempt_at - at) // timedelta(milliseconds=1)
        raise errors.EffectNotDue(effect_id=effect.effect_id, retry_in_ms=left_ms)


def may_report(effect: EffectFacts, latest: T | None, number: int, generation: int) -> T:
    """The open try of this number and this very generation. Refuses any other."""
    _stands(effect, "apply_effect")
    if latest is None or (latest.number, latest.generation) != (number, generation):
        raise _not_applying(effect)
    return latest


def may_settle(effect: EffectFacts) -> None:
    """Refuse an effect of which it is known how it stands."""
    _stands(effect, "settle_ambiguous_effect")


def _stands(effect: EffectFacts, verb: str) -> None:
    if effect.status == EFFECT_NEEDS[verb]:
        return
    if effect.status in EFFECT_SETTLED:
        raise errors.EffectSettled(effect_id=effect.effect_id, effect_status=effect.status)
    if EFFECT_NEEDS[verb] == EffectStatus.AMBIGUOUS:
        raise errors.EffectNotAmbiguous(effect_id=effect.effect_id, effect_status=effect.status)
    if effect.status == EffectStatus.APPLYING:
        raise errors.EffectApplying(effect_id=effect.effect_id, number=effect.attempt_count)
    raise _not_applying(effect)


def _not_applying(effect: EffectFacts) -> errors.Refusal:
    number = effect.attempt_count
    return errors.EffectNotApplying(effect_id=effect.effect_id, effect_status=effect.status, number=number)


def waits_for_effect(run: WaitingFacts, pending_requests: int) -> bool:
    """Whether the run is parked for an effect in doubt, and would go on but for that."""
    is_parked_for_it = (run.queue_status, run.error_code) == (QueueStatus.PARKED, ErrorCode.EFFECT_AMBIGUOUS)
    return is_parked_for_it and not rules.has_ended(run) and not pending_requests
