"""The forms of ids in addresses; an id of another form is at no address."""

from typing import Final

from django.urls import register_converter
from django.urls.converters import StringConverter

from api.requests import ATTEMPT_ID

RUN_ID: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,199}"


class RunId(StringConverter):
    regex = RUN_ID


class AttemptId(StringConverter):
    regex = ATTEMPT_ID


def register() -> None:
    """Make `<run:...>` and `<attempt:...>` known to Django's paths."""
    register_converter(RunId, "run")
    register_converter(AttemptId, "attempt")
