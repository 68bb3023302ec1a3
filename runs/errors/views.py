"""Refusals about looking at a run's past."""

from runs.errors.base import Conflict, NotFound


class NoSuchMoment(NotFound):
    """The run was not there yet at that moment."""


class DocumentNotFound(NotFound):
    """There is no such document in this project."""


class PastNotKept(Conflict):
    """This much of the run's past can't be shown as it was."""

    code = "past_not_kept"
