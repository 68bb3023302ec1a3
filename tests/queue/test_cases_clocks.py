"""CLOCK-1: servers whose own clocks are five minutes apart, on one database."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from runs import clock as queue_clock
from runs import errors, transitions
from runs.models import Lease, Project
from tests.builders import FrozenClock, RunBuilder, write
from tests.queue.losing import taken

pytestmark = pytest.mark.postgres
LEASE_MS = 60_000


@pytest.fixture
def on_its_own_clock(make: RunBuilder) -> RunBuilder:
    """The builder, with the database's clock going."""
    queue_clock._frozen = None
    return make


@pytest.fixture(autouse=True)
def stands_again(clock: FrozenClock) -> Iterator[None]:
    """The end of a test finds the clock as the fixtures left it."""
    yield
    queue_clock._frozen = clock.at


@contextmanager
def server(minutes_ahead: int) -> Iterator[None]:
    """Calls through a server whose machine is so many minutes ahead."""

    class Skewed(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) + timedelta(minutes=minutes_ahead)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(queue_clock, "datetime", Skewed)
        yield


@pytest.mark.parametrize("minutes_ahead", [5, -5])
def test_a_wrong_server_takes_nothing_over(on_its_own_clock: RunBuilder, minutes_ahead: int) -> None:
    made = on_its_own_clock.running(lease_ms=LEASE_MS)

    with server(minutes_ahead):
        swept = transitions.sweep().total
        found = taken(made)
        with pytest.raises(errors.LeaseHeld):
            on_its_own_clock.claimed(made, "host-b")

    assert (swept, found, made.lease.generation) == (0, [], 1)


def test_renewals_through_both_servers_never_jump(project: Project, on_its_own_clock: RunBuilder) -> None:
    made = on_its_own_clock.running(lease_ms=LEASE_MS)

    for number in range(10):
        with server(5 if number % 2 else 0):
            lease = transitions.renew(project, made.hold, LEASE_MS)

        ahead = _expiry(lease) - datetime.now(UTC)
        assert timedelta(seconds=50) < ahead < timedelta(seconds=70)
        assert lease.expires_at == made.lease.expires_at


def test_what_is_due_in_two_minutes_is_not_due_on_a_fast_server(on_its_own_clock: RunBuilder) -> None:
    made = on_its_own_clock.queued()
    write(made, available_at=queue_clock.now() + timedelta(minutes=2))

    with server(5):
        assert taken(made) == []


def test_a_lease_that_is_over_is_over_on_a_slow_server_too(on_its_own_clock: RunBuilder, project: Project) -> None:
    made = on_its_own_clock.starting(lease_ms=1)

    with server(-5):
        while queue_clock.now() < _expiry(made.lease):
            pass
        with pytest.raises(errors.LeaseLost):
            transitions.renew(project, made.hold, LEASE_MS)
        assert taken(made) == [made.run_id]


def _expiry(lease: Lease) -> datetime:
    assert lease.expires_at is not None
    return lease.expires_at
