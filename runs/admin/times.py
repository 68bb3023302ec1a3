"""Times as people read them: how long ago or how long, with the exact time to the millisecond behind it."""

from datetime import datetime, timedelta
from typing import Final

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from runs.admin.text import NOTHING

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def exact(at: datetime) -> str:
    """To the millisecond, in the console's time zone."""
    local = at.astimezone(timezone.get_current_timezone())
    return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03d} {local.tzname()}"


def day(at: datetime) -> SafeString:
    """The date, with the exact time behind it."""
    return _time(at, f"{at.astimezone(timezone.get_current_timezone()):%Y-%m-%d}")


def relative(at: datetime | None, now: datetime) -> SafeString:
    """How long ago, or in how long."""
    if at is None:
        return format_html('<span class="wq-none">{}</span>', NOTHING)
    return _time(at, _distance(at, now))


def stamp(at: datetime | None, now: datetime) -> SafeString:
    """The exact time, and how far away it is."""
    if at is None:
        return format_html('<span class="wq-none">{}</span>', NOTHING)
    return format_html('{} <span class="wq-quiet">{}</span>', _time(at, exact(at)), _distance(at, now))


def length(duration: timedelta) -> str:
    """A duration in its largest unit and the next one: 450 ms, 12.3 s, 3 min 20 s, 2 d 4 h."""
    seconds = duration.total_seconds()
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))} ms"
    if seconds < 60:
        return f"{int(seconds * 10) / 10:g} s"
    return _in_two_units(int(seconds))


def _distance(at: datetime, now: datetime) -> str:
    seconds = (now - at).total_seconds()
    if abs(seconds) < 1:
        return "now"
    text = _in_one_unit(int(abs(seconds)))
    return f"{text} ago" if seconds > 0 else f"in {text}"


def _in_one_unit(seconds: int) -> str:
    size, unit = next((size, unit) for size, unit in _UNITS if seconds >= size)
    return f"{seconds // size} {unit}"


def _in_two_units(seconds: int) -> str:
    place = next(place for place, (size, _) in enumerate(_UNITS) if seconds >= size)
    size, unit = _UNITS[place]
    next_size, next_unit = _UNITS[place + 1]
    rest = seconds % size // next_size
    return f"{seconds // size} {unit}" + (f" {rest} {next_unit}" if rest else "")


def _time(at: datetime, text: str) -> SafeString:
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), exact(at), text)
