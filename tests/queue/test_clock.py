"""The one clock: in milliseconds, the database's on PostgreSQL, and still where a test holds it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connection, connections, transaction

from runs import clock as queue_clock
from runs import transitions
from runs.transitions import Claimant
from tests.builders import START, FrozenClock, RunBuilder, write

KOLKATA = timezone(timedelta(hours=5, minutes=30))


@pytest.fixture
def running_clock(clock: FrozenClock) -> None:
    """The clock goes, in this test."""
    queue_clock._frozen = None


def test_times_are_cut_to_milliseconds_not_rounded() -> None:
    at = datetime(2026, 12, 1, 3, 0, 0, 999_999, tzinfo=UTC)

    assert queue_clock.truncated(at) == datetime(2026, 12, 1, 3, 0, 0, 999_000, tzinfo=UTC)


def test_times_are_in_utc_whatever_zone_they_come_in() -> None:
    at = queue_clock.truncated(datetime(2026, 12, 1, 8, 30, tzinfo=KOLKATA))

    assert (at.utcoffset(), at) == (timedelta(0), START)


@pytest.mark.parametrize("ms", [0, 1, 1_796_094_000_000, 1_796_094_000_999, 253_402_300_799_999])
def test_milliseconds_come_back_as_they_went(ms: int) -> None:
    assert queue_clock.to_ms(queue_clock.from_ms(ms)) == ms


def test_a_frozen_clock_stands_for_every_thread_until_it_is_moved(clock: FrozenClock) -> None:
    seen: list[datetime] = []
    thread = threading.Thread(target=lambda: seen.append(queue_clock.now()))
    thread.start()
    thread.join()

    clock.advance(1_500)

    assert seen == [START]
    assert queue_clock.now() == START + timedelta(milliseconds=1_500)


def test_frozen_blocks_nest(clock: FrozenClock) -> None:
    with queue_clock.frozen(START + timedelta(days=1)):
        inside = queue_clock.now()

    assert (inside, queue_clock.now()) == (START + timedelta(days=1), START)


def test_a_running_clock_gives_utc_in_milliseconds(db: None, running_clock: None) -> None:
    at = queue_clock.now()

    assert (at.utcoffset(), at.microsecond % 1000) == (timedelta(0), 0)
    assert abs(at - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_on_postgresql_the_clock_goes_on_within_a_transaction(running_clock: None) -> None:
    # The time of the transaction's beginning would let a lease live on for as long as one waited for its lock.
    with transaction.atomic(), connection.cursor() as cursor:
        before = queue_clock.now()
        cursor.execute("SELECT pg_sleep(0.01)")
        after = queue_clock.now()

    assert after > before


@contextmanager
def connected_anew() -> Iterator[None]:
    """A connection of its own, outside of the pool, for the block."""
    pooled: Any = connections["default"]
    options = {name: value for name, value in pooled.settings_dict["OPTIONS"].items() if name != "pool"}
    connections["default"] = type(pooled)({**pooled.settings_dict, "OPTIONS": options})
    try:
        yield
    finally:
        connections["default"].close()
        connections["default"] = pooled


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Kiritimati"])
def test_the_time_zone_that_postgresql_was_set_up_with_does_not_matter(
    running_clock: None, make: RunBuilder, zone: str
) -> None:
    def set_zone(to: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER ROLE CURRENT_USER SET TimeZone TO {to}")

    set_zone(f"'{zone}'")
    try:
        with connected_anew():
            at = queue_clock.now()
            made = make.running(lease_ms=60_000)
            soon = make.queued()
            write(soon, available_at=queue_clock.now() + timedelta(seconds=90))
            claimed = transitions.claim_next(make.project, Claimant("host-b", 60_000), ["a token"])
            seen = made.lease.expires_at
    finally:
        set_zone("DEFAULT")

    assert at.utcoffset() == timedelta(0)
    assert abs(at - datetime.now(UTC)) < timedelta(minutes=1)
    assert claimed == []
    assert made.lease.expires_at == seen
    assert seen is not None
    assert timedelta(seconds=50) < seen - at <= timedelta(seconds=70)


@pytest.mark.postgres
def test_on_postgresql_the_clock_is_the_databases(
    db: None, running_clock: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FiveMinutesFast(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) + timedelta(minutes=5)

    monkeypatch.setattr(queue_clock, "datetime", FiveMinutesFast)

    assert queue_clock.now() - datetime.now(UTC) < timedelta(minutes=1)
