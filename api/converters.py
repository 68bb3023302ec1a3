"""The forms of ids in addresses; an id of another form is at no address."""

from typing import Final

from django.urls import register_converter
from django.urls.converters import StringConverter, get_converters

from api.requests import ATTEMPT_ID

RUN_ID: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,199}"
# Where the addresses of a run begin.
ONE_RUN: Final = "runs/<run:run_id>"


class RunId(StringConverter):
    regex = RUN_ID


class ChosenId(StringConverter):
    """An id that a caller chose, unique in its run."""

    regex = ATTEMPT_ID


class EffectId(StringConverter):
    regex = "[0-9a-f]{64}"


def register() -> None:
    """Make `<run:...>`, `<attempt:...>`, `<chosen:...>` and `<effect:...>` known to Django's paths, once."""
    known = get_converters()
    for name, form in {"run": RunId, "attempt": ChosenId, "chosen": ChosenId, "effect": EffectId}.items():
        if name not in known:
            register_converter(form, name)


# Whoever writes an address with one of them has imported this.
register()
