"""The forms of ids in addresses; an id of another form is at no address. Importing this makes them known to Django."""

from typing import Final

from django.urls import register_converter
from django.urls.converters import StringConverter

from api.requests import ATTEMPT_ID

RUN_ID: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,199}"
# Where the addresses of a run begin.
ONE_RUN: Final = "runs/<run:run_id>"


class RunId(StringConverter):
    regex = RUN_ID


class ChosenId(StringConverter):
    """An id that a caller chose, unique in its run."""

    regex = ATTEMPT_ID


register_converter(RunId, "run")
register_converter(ChosenId, "attempt")
register_converter(ChosenId, "chosen")
