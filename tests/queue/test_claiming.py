"""Claiming by id: a lease with a new generation, refused over a live one, a pause and an end."""

from datetime import timedelta

import pytest

from runs import errors, rules, transitions
from runs.models import Project
from runs.states import ErrorCode, RunStatus
from runs.transitions import Claimant, Completion
from tests.builders import HOST, LEASE_MS, START, FrozenClock, Made, RunBuilder, snapshot_of_everything, write

OTHER = Claimant("host-b", LEASE_MS)


def test_a_claim_makes_a_lease_with_the_next_generation(project: Project, make: RunBuilder) -> None:
    made = make.queued()

    transitions.claim(project, made.run_id, Claimant(HOST, LEASE_MS), "a token")

    lease = made.lease
    assert (lease.generation, lease.owner_id, bytes(lease.token_hash or b"")) == (1, HOST, rules.token_hash("a token"))
    assert (lease.acquired_at, lease.heartbeat_at) == (START, START)
    assert lease.expires_at == START + timedelta(milliseconds=LEASE_MS)


def test_a_claimed_run_is_starting(make: RunBuilder) -> None:
    made = make.starting()

    assert made.axes == ("queued", "starting")
    assert made.run.started_at is None


def test_a_claim_is_an_event_of_its_owner(make: RunBuilder) -> None:
    made = make.starting(owner_id=HOST)

    event = made.events[-1]
    assert (event.type, event.actor_type, event.actor_id, event.generation) == ("lease.claimed", "host", HOST, 1)
    assert event.payload == '{"expiresAt":1796094030000}'


@pytest.mark.parametrize(("owner_id", "kind"), [("host-a", "host"), ("host-", "host"), ("hosta", "session")])
def test_the_owners_kind_is_told_by_its_id(make: RunBuilder, owner_id: str, kind: str) -> None:
    made = make.starting(owner_id=owner_id)

    assert made.lease.owner_type == kind


@pytest.mark.parametrize("owner_id", ["system", "workflow-control"])
def test_reserved_owner_ids_are_refused(project: Project, make: RunBuilder, owner_id: str) -> None:
    made = make.queued()
    before = snapshot_of_everything()

    with pytest.raises(errors.Invalid):
        transitions.claim(project, made.run_id, Claimant(owner_id, LEASE_MS), "a token")

    assert snapshot_of_everything() == before


def test_a_token_is_kept_nowhere(make: RunBuilder) -> None:
    made = make.running()

    everything = repr(snapshot_of_everything())

    assert made.token not in everything


def test_a_live_lease_is_not_handed_to_another(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(LEASE_MS - 1)

    with pytest.raises(errors.LeaseHeld) as refused:
        transitions.claim(project, made.run_id, OTHER, "another token")

    assert refused.value.facts == {"run_id": made.run_id, "retry_in_ms": 1}
    assert refused.value.action == errors.Action.RETRY


def test_a_lease_is_over_at_its_expiry(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(LEASE_MS)

    transitions.claim(project, made.run_id, OTHER, "another token")

    assert (made.lease.generation, made.lease.owner_id) == (2, "host-b")
    assert made.axes == ("running", "starting")


def test_a_live_lease_is_not_handed_to_its_own_owner(project: Project, make: RunBuilder) -> None:
    made = make.running(owner_id=HOST)
    before = snapshot_of_everything()

    with pytest.raises(errors.LeaseHeld):
        transitions.claim(project, made.run_id, Claimant(HOST, LEASE_MS), "a second token")

    assert snapshot_of_everything() == before


def test_a_reclaim_by_the_owner_gets_a_new_generation_and_kills_the_older_token(
    project: Project, make: RunBuilder
) -> None:
    made = make.running(owner_id=HOST)

    transitions.claim(project, made.run_id, Claimant(HOST, LEASE_MS, reclaim=True), "a second token")

    assert made.lease.generation == 2
    with pytest.raises(errors.LeaseLost) as refused:
        transitions.complete(project, Completion(made.run_id, made.token))
    assert refused.value.facts["cause"] == "superseded"


def test_a_reclaim_by_another_is_refused(project: Project, make: RunBuilder) -> None:
    made = make.running()

    with pytest.raises(errors.LeaseHeld):
        transitions.claim(project, made.run_id, Claimant("host-b", LEASE_MS, reclaim=True), "a token")


def test_a_claim_clears_the_error_of_a_held_back_run(project: Project, make: RunBuilder) -> None:
    made = make.parked()
    write(made, error_code=ErrorCode.RUNNER_NO_PROGRESS)

    transitions.claim(project, made.run_id, OTHER, "a token")

    assert (made.run.error_code, made.run.queue_error) == (None, None)
    assert made.lease.ready_at == made.run.available_at


def test_a_run_that_is_not_yet_due_can_be_claimed_by_id(project: Project, make: RunBuilder) -> None:
    made = make.queued()
    write(made, available_at=START + timedelta(hours=1))

    transitions.claim(project, made.run_id, OTHER, "a token")

    assert made.lease.generation == 1


def test_a_waiting_run_can_be_claimed_by_id(project: Project, make: RunBuilder) -> None:
    made = make.waiting()

    transitions.claim(project, made.run_id, OTHER, "a token")

    assert made.axes == ("waiting", "starting")


def test_a_paused_run_is_not_claimed(project: Project, make: RunBuilder) -> None:
    made = make.paused()
    before = snapshot_of_everything()

    with pytest.raises(errors.RunPaused):
        transitions.claim(project, made.run_id, OTHER, "a token")

    assert snapshot_of_everything() == before


def test_a_paused_run_is_not_reclaimed_by_its_holder(project: Project, make: RunBuilder) -> None:
    made = make.running(owner_id=HOST)
    write(made, paused=True)

    with pytest.raises(errors.RunPaused):
        transitions.claim(project, made.run_id, Claimant(HOST, LEASE_MS, reclaim=True), "a token")


@pytest.mark.parametrize(
    ("end", "refusal"),
    [
        ("completed", errors.RunFinished),
        ("failed", errors.RunFinished),
        ("timed_out", errors.RunFinished),
        ("cancelled", errors.RunCancelled),
    ],
)
def test_a_finished_run_is_not_claimed_and_its_end_is_told(
    project: Project, make: RunBuilder, end: str, refusal: type[errors.Refusal]
) -> None:
    made: Made = getattr(make, end)()

    with pytest.raises(refusal) as refused:
        transitions.claim(project, made.run_id, OTHER, "a token")

    assert refused.value.facts == {"run_id": made.run_id, "status": made.run.status}
    assert refused.value.action == errors.Action.STOP


@pytest.mark.parametrize("run_id", ["nobody", "x" * 300, ""])
def test_an_unknown_id_is_not_found(project: Project, run_id: str) -> None:
    with pytest.raises(errors.RunNotFound):
        transitions.claim(project, run_id, OTHER, "a token")


def test_another_projects_run_is_not_found(make: RunBuilder, other_project: Project) -> None:
    made = make.queued()

    with pytest.raises(errors.RunNotFound):
        transitions.claim(other_project, made.run_id, OTHER, "a token")


def test_a_generation_never_falls_and_is_never_used_twice(project: Project, make: RunBuilder) -> None:
    made = make.parked()

    for _ in range(3):
        made = make.claimed(made)
        transitions.park(project, made.hold)

    assert made.lease.generation == 4
    assert [event.generation for event in made.events if event.type == "lease.claimed"] == [1, 2, 3, 4]


def test_a_claim_never_lies_before_the_runs_newest_event(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.queued()
    clock.set(START - timedelta(minutes=5))

    transitions.claim(project, made.run_id, OTHER, "a token")

    assert (made.lease.acquired_at, made.events[-1].at) == (START, START)
    assert made.lease.expires_at == START + timedelta(milliseconds=LEASE_MS)


def test_a_run_that_is_not_due_keeps_when_it_is(project: Project, make: RunBuilder) -> None:
    made = make.queued()
    due = START + timedelta(hours=1)
    write(made, available_at=due)

    transitions.claim(project, made.run_id, OTHER, "a token")

    assert (made.run.status, made.run.available_at, made.lease.ready_at) == (RunStatus.QUEUED, due, due)
