"""The only clock. On PostgreSQL it is the database's, so that skewed servers agree; on SQLite the machine's.

Read it after the lock is held. Times are UTC with millisecond precision.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django.db import connection

_frozen: datetime | None = None


def now() -> datetime:
    """The present time; the frozen one in tests."""
    if _frozen is not None:
        return _frozen
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # Not now(): that is when the transaction began, before it waited for a lock.
            # As a number: a timestamp would be read in what the session takes for its time zone.
            cursor.execute("SELECT floor(extract(epoch from clock_timestamp()) * 1000)::bigint")
            row = cursor.fetchone()
        return from_ms(row[0])
    return truncated(datetime.now(UTC))


def truncated(at: datetime) -> datetime:
    """`at` in UTC, cut to milliseconds."""
    at = at.astimezone(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


def to_ms(at: datetime) -> int:
    """Milliseconds since the epoch."""
    return (at - _EPOCH) // _MILLISECOND


def from_ms(ms: int) -> datetime:
    """The UTC time that many milliseconds after the epoch."""
    return _EPOCH + timedelta(milliseconds=ms)


def text(at: datetime) -> str:
    """UTC with milliseconds, as everybody outside reads it: 2026-12-01T03:00:00.123Z (RFC 3339)."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


@contextmanager
def frozen(at: datetime) -> Iterator[None]:
    """Hold the clock at `at` for the block; blocks nest. For tests and replays, all threads alike."""
    global _frozen
    before, _frozen = _frozen, truncated(at)
    try:
        yield
    finally:
        _frozen = before


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
