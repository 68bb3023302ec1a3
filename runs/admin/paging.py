"""Pages of a newest-first list by position, never by number: the last page costs what the first one does."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from django.db.models import Q

from runs import clock
from runs.models import Run
from runs.models.run import RunQuerySet

OLDER_THAN: Final = "older"
NEWER_THAN: Final = "newer"
# The end of the list as a position to page back from.
OLDEST: Final = "0-0"
_PLACE: Final = re.compile(r"([0-9]{1,15})-([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Position:
    """Just after (older) or just before (newer) a run's place; or the list's beginning, where there is no place."""

    at: datetime | None = None
    key: int = 0
    newer: bool = False

    @classmethod
    def of(cls, parameters: Mapping[str, object]) -> Self:
        """The position that an address names; one that makes no sense is the beginning."""
        newer = NEWER_THAN in parameters
        match = _PLACE.fullmatch(str(parameters.get(NEWER_THAN if newer else OLDER_THAN, "")))
        if match is None:
            return cls()
        try:
            return cls(clock.from_ms(int(match[1])), int(match[2]), newer)
        except OverflowError:
            return cls()


@dataclass(frozen=True, slots=True)
class Page:
    """Runs, newest first, and whether there are more on either side."""

    runs: list[Run]
    has_newer: bool
    has_older: bool

    @property
    def newer(self) -> str:
        return place(self.runs[0]) if self.runs else OLDEST

    @property
    def older(self) -> str:
        return place(self.runs[-1]) if self.runs else OLDEST


def place(run: Run) -> str:
    """A run's place in the list, as addresses spell it."""
    return f"{clock.to_ms(run.created_at)}-{run.pk}"


def page(runs: RunQuerySet, position: Position, size: int) -> Page:
    """The page at this position; one row more than it shows is all that it reads."""
    if position.at is None:
        found = list(runs.newest_first()[: size + 1])
        return Page(found[:size], has_newer=False, has_older=len(found) > size)
    if position.newer:
        nearest = list(runs.filter(_beyond(position.at, position)).order_by("created_at", "pk")[: size + 1])
        if len(nearest) <= size:
            # Nothing lies before these: the first page, which may have room for more.
            return page(runs, Position(), size)
        return Page(nearest[size - 1 :: -1], has_newer=True, has_older=position.key > 0)
    found = list(runs.filter(_beyond(position.at, position)).newest_first()[: size + 1])
    return Page(found[:size], has_newer=True, has_older=len(found) > size)


def _beyond(at: datetime, position: Position) -> Q:
    # The first half alone bounds the walk of an index by time.
    if position.newer:
        return Q(created_at__gte=at) & (Q(created_at__gt=at) | Q(pk__gt=position.key))
    return Q(created_at__lte=at) & (Q(created_at__lt=at) | Q(pk__lt=position.key))
