"""Refusals of a call as such: its documents, its batch, its idempotency key."""

from typing import Any

from runs.errors.base import Action, Conflict, Invalid


class InvalidDocument(Invalid):
    """This JSON document or text can't be stored."""

    code = "invalid_json"

    def __init__(self, detail: str, /, *, code: str, **facts: Any) -> None:
        super().__init__(detail, **facts)
        self.code = code  # type: ignore[misc]  # one class for the several codes of canonical.DocumentError


class DuplicateItem(Invalid):
    """The same run stands in this batch twice; the first one counts."""

    code = "duplicate_item"


class BatchTooLarge(Invalid):
    """A batch holds too many items."""

    code = "batch_too_large"


class TokenNameTaken(Conflict):
    """This project has a token of this name."""

    code = "token_name_taken"
    action = Action.MEND


class TokenInUse(Conflict):
    """One of these lease tokens holds a run already."""

    code = "token_in_use"
    action = Action.RETRY


class OwnerTaken(Conflict):
    """This owner id belongs to another access token."""

    code = "owner_taken"
    action = Action.MEND


class ReceiptConflict(Conflict):
    """This idempotency key was used for another request."""

    code = "idempotency_conflict"
    action = Action.MEND


class TooMany(Conflict):
    """The run has as many of these as it may have."""

    code = "too_many"
