"""Refusals about attempts."""

from runs.errors.base import Action, Conflict, NotFound


class AttemptNotFound(NotFound):
    """There is no such attempt in this run."""


class AttemptSettled(Conflict):
    """The attempt is over."""

    code = "attempt_settled"


class AttemptOpen(Conflict):
    """The node has an open attempt of another id under this lease."""

    code = "attempt_open"


class AttemptConflict(Conflict):
    """An attempt of this id exists for another node."""

    code = "attempt_conflict"
    action = Action.MEND
