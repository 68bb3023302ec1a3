"""Typed readers of environment variables. They read and convert; what a value means is settings.py's business.

A value that makes no sense raises ImproperlyConfigured with a sentence that names the variable.
"""

import os
from collections.abc import Sequence
from zoneinfo import available_timezones

from django.core.exceptions import ImproperlyConfigured

_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """The variable without outer blanks; an empty one counts as unset."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: bool = False) -> bool:
    """A yes or no: 1/0, true/false, yes/no, on/off in any case."""
    value = text(name).lower()
    if not value:
        return default
    if value in _YES:
        return True
    if value in _NO:
        return False
    raise ImproperlyConfigured(f"{name} must be one of 1, true, yes, on, 0, false, no, off; it is {value!r}.")


def whole(name: str, default: int, *, low: int = 0, high: int | None = None) -> int:
    """A whole number from `low` to `high`, both included."""
    value = text(name)
    if not value:
        return default
    # int() alone would also take "1_000", " 7" and digits of other scripts.
    if not (value.isascii() and value.isdigit()):
        raise ImproperlyConfigured(f"{name} must be a whole number in plain digits; it is {value!r}.")
    number = int(value)
    if number < low or (high is not None and number > high):
        bounds = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ImproperlyConfigured(f"{name} must be {bounds}; it is {number}.")
    return number


def words(name: str, default: Sequence[str] = ()) -> list[str]:
    """A list parted by commas; blanks around an item and empty items are dropped."""
    value = text(name)
    return [item.strip() for item in value.split(",") if item.strip()] if value else list(default)


def choice(name: str, default: str, allowed: Sequence[str]) -> str:
    """One of `allowed`, in any case."""
    value = text(name, default)
    for candidate in allowed:
        if value.lower() == candidate.lower():
            return candidate
    raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}; it is {value!r}.")


def origins(name: str) -> list[str]:
    """Web origins such as https://queue.example:8443, parted by commas."""
    found = words(name)
    for origin in found:
        scheme, _, rest = origin.partition("://")
        if scheme not in {"http", "https"} or not rest or "/" in rest:
            raise ImproperlyConfigured(
                f"{name} must list origins such as https://queue.example, without a path; one is {origin!r}."
            )
    return found


def time_zone(name: str, default: str = "UTC") -> str:
    """The name of a time zone that this machine knows."""
    value = text(name, default)
    if value not in available_timezones():
        raise ImproperlyConfigured(f"{name} must name a time zone such as Europe/Paris; it is {value!r}.")
    return value
