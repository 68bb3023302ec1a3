"""The bodies of the verbs in effects.py."""

from typing import Final

from django.conf import settings

from api.control_requests import REASON_LENGTH
from api.fields import Document, Items, LeaseToken, Name, OneOf, Shape, Text, Whole
from api.requests import ERROR_MESSAGE_BYTES, HoldRequest
from runs.rules_effects import RETRY_LIMIT_MS
from runs.states import EffectOutcome
from runs.transitions import BATCH_LIMIT
from runs.transitions.effect_settlement import EVIDENCE_LIMIT

_MOST_ITEMS: Final = min(settings.WORKFLOWQ["MAX_BATCH"], BATCH_LIMIT)
_OUTCOMES: Final = (EffectOutcome.APPLIED, EffectOutcome.REJECTED)


def _number(**options: bool) -> Whole:
    return Whole(low=1, high=2**31 - 1, help_text="Of the try, as starting it answered.", **options)


def _error_message(**options: bool) -> Text:
    return Text(most_bytes=ERROR_MESSAGE_BYTES, allow_blank=True, **options)


class EffectItem(Shape):
    """What is to be done outside."""

    effect_type = Name()
    idempotency_key = Name(help_text="Tells the effect from the others of its type in this run.")
    payload = Document(required=False, default=None)


class EffectReserveRequest(HoldRequest, EffectItem):
    """One effect of a held run."""


class EffectReserveBatch(HoldRequest):
    """Many effects of one held run."""

    items = Items(EffectItem(), least=1, most=_MOST_ITEMS)


class EffectApplyRequest(HoldRequest):
    number = _number()
    result = Document(required=False, default=None, help_text="What the outside answered.")


class EffectRejectRequest(HoldRequest):
    number = _number()
    error_message = _error_message()
    retry_in_ms = Whole(
        high=RETRY_LIMIT_MS,
        required=False,
        allow_null=True,
        default=None,
        help_text="The effect is pending again for that long; where absent or null it is rejected for good.",
    )


class EffectDoubtRequest(HoldRequest):
    number = _number()
    error_message = _error_message()


class EffectSettleRequest(Shape):
    """With a token and a number by the very try that is in doubt; without, by an operator with a reason."""

    outcome = OneOf(_OUTCOMES)
    token = LeaseToken(required=False)
    number = _number(required=False)
    result = Document(required=False)
    error_message = _error_message(required=False)
    reason = Text(most=REASON_LENGTH, required=False, help_text="Kept in the event, with the operator's name.")
    evidence = Document(
        most_bytes=EVIDENCE_LIMIT,
        required=False,
        help_text=f"Kept in the event; the result of an applied effect. At most {EVIDENCE_LIMIT} bytes as stored.",
    )
