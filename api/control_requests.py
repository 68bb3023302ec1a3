"""The bodies of the verbs in control.py."""

from typing import Final

from api.fields import LeaseToken, Name, Shape, Text, Whole
from api.requests import ERROR_MESSAGE_BYTES, HoldRequest
from runs.rules import GRACE_LIMIT_MS

REASON_LENGTH: Final = 2_000


class NothingRequest(Shape):
    """An empty object."""


class ReasonRequest(Shape):
    reason = Text(most=REASON_LENGTH, required=False, help_text="Kept in the event.")


class PauseRequest(ReasonRequest):
    grace_ms = Whole(
        low=1,
        high=GRACE_LIMIT_MS,
        required=False,
        help_text="Ask the holder, and pause at the end of this time in any case; in milliseconds.",
    )


class TimeOutRequest(Shape):
    """Without a token, for a run that nobody has begun."""

    token = LeaseToken(required=False)
    error_message = Text(most_bytes=ERROR_MESSAGE_BYTES, allow_blank=True)


class InteractionTimeoutRequest(HoldRequest):
    target_session_id = Name()
