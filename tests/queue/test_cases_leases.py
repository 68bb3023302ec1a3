"""Cases of leases and clocks, told as a whole: LEASE-3, CLOCK-2 and CLOCK-3."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from runs import errors, transitions
from runs.models import Owner, Project
from runs.states import RunStatus, Scope
from runs.transitions import Swept
from runs.waiting import waiting_reason
from tests.builders import LEASE_MS, START, FrozenClock, RunBuilder, write
from tests.queue.losing import RUNNER, crashes, taken


def test_recovery_does_not_lean_on_the_register_of_owners(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    """LEASE-3."""
    token, _ = transitions.issue_access_token(project, "a runner", [Scope.RUNS_EXECUTE])
    transitions.own(token, "host-a")
    made = make.running(owner_id="host-a")
    Owner.objects.all().delete()
    token.delete()
    clock.advance(LEASE_MS)
    told = waiting_reason(made.run)

    assert made.lease.owner_id == "host-a"
    assert told is not None
    assert taken(made) == [made.run_id]
    assert "host-a" in {event.actor_id for event in made.events}


def test_a_swept_run_still_tells_who_held_it(make: RunBuilder, clock: FrozenClock) -> None:
    """LEASE-3, with the sweep in between."""
    made = make.running(owner_id="host-a")
    clock.advance(LEASE_MS)

    transitions.sweep()

    assert '"ownerId":"host-a"' in made.events[-1].payload


def assert_judged_as_under_utc(make: RunBuilder, clock: FrozenClock) -> None:
    """CLOCK-2: claim, renew, let expire, hand out what is due in ninety seconds."""
    made, later = make.running(lease_ms=60_000), make.queued()
    write(later, available_at=START + timedelta(seconds=90))

    clock.advance(59_999)
    renewed = transitions.renew(make.project, made.hold, 60_000)
    early = taken(made)
    clock.advance(30_001)
    due = taken(later)
    clock.advance(29_999)
    expired = taken(made)

    assert renewed.expires_at == START + timedelta(milliseconds=119_999)
    assert (early, due, expired) == ([], [later.run_id], [made.run_id])
    assert made.lease.acquired_at == START + timedelta(milliseconds=119_999)


def test_the_time_zone_in_which_times_are_shown_does_not_matter(
    make: RunBuilder, clock: FrozenClock, settings: Settings
) -> None:
    settings.TIME_ZONE = "Asia/Kolkata"

    assert_judged_as_under_utc(make, clock)


@contextmanager
def database_in(zone: str) -> Iterator[None]:
    """Every session of the database begins in this time zone."""
    _alter_database(f"SET timezone = '{zone}'")
    try:
        yield
    finally:
        _alter_database("RESET timezone")


def _alter_database(change: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {connection.ops.quote_name(connection.settings_dict['NAME'])} {change}")
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # of the PostgreSQL backend


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Kiritimati"])
def test_the_time_zone_of_the_database_does_not_matter(make: RunBuilder, clock: FrozenClock, zone: str) -> None:
    with database_in(zone):
        assert_judged_as_under_utc(make, clock)


@pytest.mark.parametrize("is_swept", [False, True], ids=["not swept", "swept"])
def test_after_a_long_sleep_the_first_contact_tells_and_the_run_is_recovered(
    project: Project, make: RunBuilder, clock: FrozenClock, is_swept: bool
) -> None:
    """CLOCK-3: ninety minutes later, with ten more runs that wait."""
    made = make.running(lease_ms=60_000)
    queued = [make.queued() for _ in range(10)]
    clock.advance(90 * 60_000)
    if is_swept:
        # One sweep makes up for all that were missed.
        assert (transitions.sweep(), transitions.sweep()) == (Swept(released=1), Swept())

    with pytest.raises(errors.LeaseLost) as refused:
        transitions.renew(project, made.hold, 60_000)
    runs = transitions.claim_next(project, RUNNER, [f"token {n}" for n in range(20)])

    assert (refused.value.facts["cause"], refused.value.action) == ("expired", errors.Action.STOP)
    assert {run.run_id for run in runs} == {made.run_id, *(each.run_id for each in queued)}
    assert (made.run.status, crashes(made)) == (RunStatus.RUNNING, 1)
