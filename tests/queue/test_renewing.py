"""Renewing: the heartbeat of a lease, one or many at once."""

from datetime import timedelta

import pytest

from runs import errors, transitions
from runs.models import Lease, Project
from runs.transitions import BATCH_LIMIT, Hold
from tests.builders import LEASE_MS, OPERATOR, START, FrozenClock, Made, RunBuilder, snapshot_of_everything, write


def told(renewals: list[Lease | errors.Refusal]) -> list[str]:
    """Each outcome in a word."""
    return [outcome.code if isinstance(outcome, errors.Refusal) else "renewed" for outcome in renewals]


def test_a_renewal_counts_from_now(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(10_000)

    lease = transitions.renew(project, made.hold, LEASE_MS)

    assert (lease.heartbeat_at, lease.expires_at) == (clock.at, clock.at + timedelta(milliseconds=LEASE_MS))
    stored = made.lease
    assert (stored.heartbeat_at, stored.expires_at) == (lease.heartbeat_at, lease.expires_at)
    assert (stored.generation, stored.acquired_at) == (1, START)


def test_a_renewal_touches_nothing_but_the_lease(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    before = snapshot_of_everything()
    clock.advance(10_000)

    transitions.renew(project, made.hold, LEASE_MS)

    after = snapshot_of_everything()
    assert {table for table in after if after[table] != before[table]} == {"runs_lease"}


def test_a_renewal_may_also_shorten_the_lease(project: Project, make: RunBuilder) -> None:
    made = make.running(lease_ms=60_000)

    transitions.renew(project, made.hold, 1_000)

    assert made.lease.expires_at == START + timedelta(seconds=1)


def test_the_last_moment_to_renew_is_the_one_before_expiry(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    in_time, too_late = make.running(), make.running(lease_ms=LEASE_MS - 1)
    clock.advance(LEASE_MS - 1)

    renewals = transitions.renew_all(project, [in_time.hold, too_late.hold], LEASE_MS)

    assert told(renewals) == ["renewed", "lease_lost"]


def test_a_renewal_that_comes_too_late_is_refused_though_nobody_took_over(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.running()
    clock.advance(35_000)
    before = snapshot_of_everything()

    with pytest.raises(errors.LeaseLost) as refused:
        transitions.renew(project, made.hold, LEASE_MS)

    assert (refused.value.facts["cause"], refused.value.action) == ("expired", errors.Action.STOP)
    assert snapshot_of_everything() == before


def test_a_renewal_after_a_takeover_is_refused_and_leaves_the_new_lease_alone(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.running()
    clock.advance(31_000)
    make.claimed(made, "host-b")
    clock.advance(4_000)
    before = snapshot_of_everything()

    with pytest.raises(errors.LeaseLost) as refused:
        transitions.renew(project, made.hold, LEASE_MS)

    assert refused.value.facts["cause"] == "superseded"
    assert snapshot_of_everything() == before


def test_a_parked_run_has_released_its_lease(project: Project, make: RunBuilder) -> None:
    made = make.parked()

    with pytest.raises(errors.LeaseLost) as refused:
        transitions.renew(project, made.hold, LEASE_MS)

    assert refused.value.facts["cause"] == "released"


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("completed", "run_finished"),
        ("failed", "run_finished"),
        ("cancelled", "run_cancelled"),
        ("paused", "run_paused"),
        ("queued", "lease_lost"),
    ],
)
def test_a_renewal_is_told_why_the_lease_is_gone(project: Project, make: RunBuilder, state: str, code: str) -> None:
    made: Made = getattr(make, state)()

    renewals = transitions.renew_all(project, [made.hold], LEASE_MS)

    assert told(renewals) == [code]


def test_a_cancelled_runs_holder_is_told_to_stop(project: Project, make: RunBuilder) -> None:
    made = make.running()
    transitions.cancel(project, made.run_id, OPERATOR)

    with pytest.raises(errors.RunCancelled) as refused:
        transitions.renew(project, made.hold, LEASE_MS)

    assert refused.value.action == errors.Action.STOP


def test_a_batch_has_an_outcome_for_each_in_the_order_asked(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    lost, held, other, done = make.running(lease_ms=5), make.running(), make.running(), make.completed()
    clock.advance(5)
    nobody, odd, wrong = Hold("nobody", "x"), Hold("a\0b", "\ud800"), Hold(other.run_id, "wrong")
    holds = [held.hold, nobody, lost.hold, done.hold, odd, wrong, held.hold]

    renewals = transitions.renew_all(project, holds, LEASE_MS)

    refused = ["not_found", "lease_lost", "run_finished", "not_found", "lease_lost", "duplicate_item"]
    assert told(renewals) == ["renewed", *refused]
    assert held.lease.heartbeat_at == clock.at
    assert lost.lease.heartbeat_at == START


def test_a_full_batch_is_renewed_and_a_larger_one_refused(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    transitions.reserve_all(project, [make.reservation() for _ in range(BATCH_LIMIT)])
    tokens = [f"token {n}" for n in range(BATCH_LIMIT)]
    runs = transitions.claim_next(project, transitions.Claimant("host-a", LEASE_MS), tokens)
    holds = [Hold(run.run_id, token) for run, token in zip(runs, tokens, strict=True)]
    clock.advance(1)

    renewals = transitions.renew_all(project, holds, LEASE_MS)

    assert told(renewals) == ["renewed"] * BATCH_LIMIT
    assert set(Lease.objects.values_list("heartbeat_at", flat=True)) == {clock.at}
    with pytest.raises(errors.BatchTooLarge):
        transitions.renew_all(project, [*holds, holds[0]], LEASE_MS)


def test_another_projects_lease_is_not_found(make: RunBuilder, other_project: Project) -> None:
    made = make.running()

    renewals = transitions.renew_all(other_project, [made.hold], LEASE_MS)

    assert told(renewals) == ["not_found"]


def test_the_heartbeat_never_goes_back(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(10_000)
    transitions.renew(project, made.hold, LEASE_MS)
    clock.advance(-5_000)

    lease = transitions.renew(project, made.hold, LEASE_MS)

    heartbeat = START + timedelta(seconds=10)
    assert (lease.heartbeat_at, made.lease.heartbeat_at) == (heartbeat, heartbeat)
    assert lease.expires_at == made.lease.expires_at == heartbeat + timedelta(milliseconds=LEASE_MS)


def test_an_expired_lease_stays_expired_when_the_clock_falls_behind_the_runs_newest_event(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.running()
    clock.advance(LEASE_MS)
    transitions.record_event(project, transitions.Note(made.run_id, "seen"), OPERATOR)
    clock.advance(-1)

    renewals = transitions.renew_all(project, [made.hold], LEASE_MS)

    assert told(renewals) == ["lease_lost"]


def test_a_paused_run_that_is_held_for_control_is_renewed(project: Project, make: RunBuilder) -> None:
    made = make.running()
    write(made, paused=True)

    assert transitions.renew(project, made.hold, LEASE_MS).generation == 1
