"""Refusals of the wire itself; those of the queue are in runs.errors. How they are written down is in problems.py."""

from collections.abc import Mapping, Sequence
from typing import Any

from runs.errors import Action, Busy, Invalid, NotFound, Refusal

__all__ = [
    "Busy",
    "InternalError",
    "Invalid",
    "InvalidCursor",
    "InvalidIdempotencyKey",
    "InvalidRequest",
    "LengthRequired",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "PayloadTooLarge",
    "Refusal",
    "ScopeMissing",
    "Unauthenticated",
    "UnknownFilter",
    "UnsupportedMediaType",
]

Faults = Mapping[str, Sequence[str]]


class InvalidRequest(Invalid):
    """Some members of the request are not as they must be."""

    def __init__(self, faults: Faults) -> None:
        super().__init__(errors=faults)


class UnknownFilter(Invalid):
    """This address doesn't take such a parameter."""

    code = "unknown_filter"


class InvalidCursor(Invalid):
    """This cursor is not one that this address gave out."""

    code = "invalid_cursor"


class InvalidIdempotencyKey(Invalid):
    """An Idempotency-Key is 1 to 200 visible ASCII characters."""

    code = "invalid_idempotency_key"


class Unauthenticated(Invalid):
    """Send a usable access token as "Authorization: Bearer wq_..."."""

    code = "unauthenticated"


class ScopeMissing(Invalid):
    """The access token lacks the scope for this."""

    code = "scope_missing"


class MethodNotAllowed(Invalid):
    """This address doesn't take that method."""

    code = "method_not_allowed"


class NotAcceptable(Invalid):
    """Answers are JSON."""

    code = "not_acceptable"


class UnsupportedMediaType(Invalid):
    """A body is application/json in UTF-8, and not compressed."""

    code = "unsupported_media_type"


class LengthRequired(Invalid):
    """This server takes a body only with its Content-Length."""

    code = "length_required"


class PayloadTooLarge(Invalid):
    """The body, or a document in it, is too large."""

    code = "payload_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body has more than {limit} bytes.", place="", limit=limit)


class InternalError(Refusal):
    """The server met a fault of its own, which was logged."""

    code = "internal_error"
    action = Action.RETRY

    def __init__(self, **facts: Any) -> None:
        super().__init__(**facts)
