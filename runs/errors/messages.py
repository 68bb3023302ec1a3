"""Refusals about messages and turns."""

from runs.errors.base import Action, Conflict, NotFound


class MessageNotFound(NotFound):
    """There is no such message in this run."""


class TurnNotFound(NotFound):
    """There is no such turn in this run."""


class MessageConflict(Conflict):
    """A message of this id was queued with other content."""

    code = "message_conflict"
    action = Action.MEND


class MessageSettled(Conflict):
    """The message was sent or cancelled already."""

    code = "message_settled"


class MessageNotSent(Conflict):
    """The message has not been sent."""

    code = "message_not_sent"
    action = Action.RETRY


class TurnConflict(Conflict):
    """A turn of this id was opened on another message."""

    code = "turn_conflict"
    action = Action.MEND


class TurnOpen(Conflict):
    """The message has an open turn."""

    code = "turn_open"
    action = Action.RETRY


class TurnEnded(Conflict):
    """The turn has ended."""

    code = "turn_ended"
