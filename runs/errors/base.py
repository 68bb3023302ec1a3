"""What a refusal is: a stable code, what the caller should do, and facts.

A refusal's docstring is its default sentence. Nothing was changed when one is raised.
HTTP statuses are the API's business.
"""

from enum import StrEnum
from inspect import cleandoc
from typing import Any, ClassVar


class Action(StrEnum):
    """What a caller should do about a refusal."""

    STOP = "stop"  # give this run up; the same call will never succeed
    RETRY = "retry"  # the same call may succeed later
    MEND = "mend"  # change the call


class Refusal(Exception):
    """The queue refused this."""

    code: ClassVar[str] = "refused"
    action: ClassVar[Action] = Action.MEND

    def __init__(self, detail: str | None = None, /, **facts: Any) -> None:
        self.detail = detail or cleandoc(type(self).__doc__ or "")
        self.facts = facts
        super().__init__(self.detail)


class Invalid(Refusal):
    """The request is malformed."""

    code = "invalid_request"


class NotFound(Refusal):
    """There is nothing of that name here."""

    code = "not_found"
    action = Action.STOP


class Conflict(Refusal):
    """The request does not fit the present state."""

    code = "conflict"
    action = Action.STOP


class Busy(Refusal):
    """The queue could not get to this in time; nothing was changed."""

    code = "busy"
    action = Action.RETRY
