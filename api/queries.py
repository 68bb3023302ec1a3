"""Query strings, read strictly: known names, each once, in UTF-8, with text that can be stored."""

from collections.abc import Collection
from typing import Final
from urllib.parse import parse_qsl

from django.conf import settings
from django.http import HttpRequest

from api import errors
from runs import canonical

_MOST_PARAMETERS: Final = 50
_LONGEST_VALUE: Final = 2_000
_NAME_SHOWN: Final = 60


def read(request: HttpRequest, allowed: Collection[str]) -> dict[str, str]:
    """The parameters by name. Refuses unknown names, repeated ones, empty values and bytes that are no text."""
    found: dict[str, str] = {}
    for name, value in _pairs(request.META.get("QUERY_STRING", "")):
        if name not in allowed:
            shown = name if len(name) <= _NAME_SHOWN else name[: _NAME_SHOWN - 1] + "…"
            raise errors.UnknownFilter(parameter=shown, allowed=sorted(allowed))
        if name in found:
            raise errors.InvalidRequest({name: ["This must come once."]})
        if not value:
            raise errors.InvalidRequest({name: ["This must not be empty; leave it out instead."]})
        if len(value) > _LONGEST_VALUE:
            raise errors.InvalidRequest({name: [f"This must have at most {_LONGEST_VALUE} characters."]})
        found[name] = value
    return found


def page_size(parameters: dict[str, str]) -> int:
    """The number of results on a page: what `limit` asks for, up to the cap."""
    default, cap = settings.WORKFLOWQ["PAGE_DEFAULT"], settings.WORKFLOWQ["PAGE_MAX"]
    wanted = whole(parameters, "limit", default=default, low=1)
    return min(wanted, cap)


def whole(parameters: dict[str, str], name: str, *, default: int, low: int = 0) -> int:
    """A parameter in plain digits, `low` at least; one beyond 63 bits counts as the largest of them."""
    text = parameters.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()):
        raise errors.InvalidRequest({name: ["This must be a whole number in plain digits."]})
    digits = text.lstrip("0") or "0"
    number = int(digits) if len(digits) <= 18 else 2**63 - 1
    if number < low:
        raise errors.InvalidRequest({name: [f"This must be at least {low}."]})
    return number


def _pairs(query: str) -> list[tuple[str, str]]:
    # What stands outside of ASCII should have been escaped, and servers differ in what they make of it.
    if not query.isascii():
        raise errors.Invalid("The query string holds characters that must be percent-encoded.")
    if query.count("&") >= _MOST_PARAMETERS:
        raise errors.Invalid(f"The query string has more than {_MOST_PARAMETERS} parameters.")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise errors.Invalid("The query string is not in UTF-8.") from None
    for text in (part for pair in pairs for part in pair):
        canonical.check_text(text)
    return pairs
