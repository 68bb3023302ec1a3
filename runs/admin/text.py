"""Text that others wrote, as a page may show it: escaped, kept to itself, and with nothing invisible in it."""

import re
import unicodedata
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
# Layout, and the joiners of emoji and of scripts that need them.
_HARMLESS: Final = frozenset("\n\t\u200c\u200d")
NOTHING: Final = "\N{EN DASH}"


def visible(text: str) -> SafeString:
    """The text with each control, direction or zero-width character spelled out, in a <bdi> of its own."""
    hidden = _hidden_in(text)
    if hidden is None:
        return format_html("<bdi>{}</bdi>", text)
    # Split by a group: every second part is what split it.
    parts = hidden.split(text)
    pieces = ((_spelled(part) if place % 2 else part,) for place, part in enumerate(parts))
    return format_html("<bdi>{}</bdi>", format_html_join("", "{}", pieces))


def escaped(text: str) -> str:
    """The text with the same characters as JSON's escapes: a document stays the same one when it is copied."""
    hidden = _hidden_in(text)
    return text if hidden is None else hidden.sub(lambda match: _json_escape(match[0]), text)


def identifier(text: str | None) -> SafeString:
    """An id in one line, cut by the page where it is too wide and whole in its title."""
    if text is None:
        return format_html('<span class="wq-none">{}</span>', NOTHING)
    return format_html('<span class="wq-id" title="{}">{}</span>', escaped(text), visible(text))


def counted(number: int, noun: str) -> str:
    """A number and its noun: 1 event, 2 events."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _hidden_in(text: str) -> "re.Pattern[str] | None":
    if text.isprintable():
        return None
    found = {character for character in set(text) - _HARMLESS if unicodedata.category(character) in _HIDDEN_CATEGORIES}
    return re.compile("([" + re.escape("".join(sorted(found))) + "])") if found else None


def _spelled(character: str) -> SafeString:
    name = unicodedata.name(character, "control character").lower()
    return format_html('<span class="wq-hidden" title="{}">U+{}</span>', name, f"{ord(character):04X}")


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))
