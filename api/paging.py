"""Pages by cursor: where the last page ended, never how many rows came before."""

import base64
import binascii
import struct
import zlib
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar

from django.db.models import F, Model, Q, QuerySet

from api import errors, queries
from runs import clock
from runs.models import Event, HumanDecision, Project, Run
from runs.reading import FeedPosition, feed

Page = dict[str, Any]
M = TypeVar("M", bound=Model)

# A letter for the kind of list, two numbers, and a checksum: a cursor is no secret, but it must be ours and whole.
_FORM: Final = struct.Struct(">cqq")
_RUNS: Final = b"r"
_BY_KEY: Final = b"a"
_FEED: Final = b"f"
_BY_DEADLINE: Final = b"d"
# In a cursor, the deadline of what has none.
_NEVER_MS: Final = 2**63 - 1


def newest_first(runs: QuerySet[Run], parameters: dict[str, str], shape: Callable[[Run], Page]) -> Page:
    """A page of runs that are ordered by creation and key, both descending."""
    if "cursor" in parameters:
        created_ms, key = _decoded(_RUNS, parameters["cursor"])
        at = _moment(created_ms)
        # The first condition follows from the second; the index understands it better.
        runs = runs.filter(Q(created_at__lte=at), Q(created_at__lt=at) | Q(created_at=at, pk__lt=key))
    return _page(runs, parameters, shape, lambda run: _encoded(_RUNS, clock.to_ms(run.created_at), run.pk))


def by_key(rows: QuerySet[M], parameters: dict[str, str], shape: Callable[[M], Page]) -> Page:
    """A page of rows in the order in which they were made."""
    if "cursor" in parameters:
        rows = rows.filter(pk__gt=_decoded(_BY_KEY, parameters["cursor"])[1])
    return _page(rows, parameters, shape, lambda row: _encoded(_BY_KEY, 0, row.pk))


def due_first(
    decisions: QuerySet[HumanDecision], parameters: dict[str, str], shape: Callable[[HumanDecision], Page]
) -> Page:
    """A page of decisions by their deadlines; those without one come last, in the order in which they were asked."""
    if "cursor" in parameters:
        deadline_ms, key = _decoded(_BY_DEADLINE, parameters["cursor"])
        later = Q(deadline_at=None, pk__gt=key)
        if deadline_ms != _NEVER_MS:
            at = _moment(deadline_ms)
            later = Q(deadline_at__gt=at) | Q(deadline_at=at, pk__gt=key) | Q(deadline_at=None)
        decisions = decisions.filter(later)
    in_order = decisions.order_by(F("deadline_at").asc(nulls_last=True), "pk")
    return _page(in_order, parameters, shape, lambda row: _encoded(_BY_DEADLINE, _due_ms(row.deadline_at), row.pk))


def of_feed(project: Project, parameters: dict[str, str], shape: Callable[[Event], Page]) -> Page:
    """A page of the project's feed; there is always a next one, which may be empty for now."""
    position = FeedPosition(*_decoded(_FEED, parameters["cursor"])) if "cursor" in parameters else FeedPosition()
    limit = queries.page_size(parameters)
    events = list(feed(project, position)[:limit])
    if events:
        position = FeedPosition(events[-1].transaction_id, events[-1].pk)
    cursor = _encoded(_FEED, position.transaction_id, position.seq)
    return {"results": [shape(event) for event in events], "next": cursor, "limit": limit}


def of_events(events: QuerySet[Event], after: int, parameters: dict[str, str], shape: Callable[[Event], Page]) -> Page:
    """A page of one run's events, which sequence numbers page by themselves."""
    limit = queries.page_size(parameters)
    found = list(events[:limit])
    return {
        "results": [shape(event) for event in found],
        "next_after": found[-1].pk if found else after,
        "limit": limit,
    }


def _page(
    rows: QuerySet[M], parameters: dict[str, str], shape: Callable[[M], Page], cursor: Callable[[M], str]
) -> Page:
    limit = queries.page_size(parameters)
    # One more than asked for tells whether there is a next page.
    found = list(rows[: limit + 1])
    shown = found[:limit]
    return {
        "results": [shape(row) for row in shown],
        "next": cursor(shown[-1]) if len(found) > limit else None,
        "limit": limit,
    }


def _encoded(kind: bytes, first: int, second: int) -> str:
    content = _FORM.pack(kind, first, second)
    return base64.urlsafe_b64encode(content + zlib.crc32(content).to_bytes(4, "big")).decode().rstrip("=")


def _decoded(kind: bytes, cursor: str) -> tuple[int, int]:
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise errors.InvalidCursor from None
    content, checksum = data[:-4], data[-4:]
    if len(content) != _FORM.size or zlib.crc32(content).to_bytes(4, "big") != checksum:
        raise errors.InvalidCursor
    found, first, second = _FORM.unpack(content)
    if found != kind or first < 0 or second < 0:
        raise errors.InvalidCursor
    return first, second


def _due_ms(deadline_at: datetime | None) -> int:
    return _NEVER_MS if deadline_at is None else clock.to_ms(deadline_at)


def _moment(ms: int) -> datetime:
    try:
        return clock.from_ms(ms)
    except OverflowError:
        raise errors.InvalidCursor from None
