"""Pausing or cancelling with a grace: told to the holder, obeyed when it parks, done at the deadline in any case."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from runs import canonical, errors, transitions
from runs.models import Project, Run
from runs.rules import GRACE_LIMIT_MS
from runs.states import ErrorCode
from runs.transitions import Claimant, Completion, Failure
from tests.builders import HOST, LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder, snapshot_of_everything, write_lease
from tests.queue.losing import CONTROLLER, crashes, free_at, lost, taken

GRACE_MS = 10_000
WISHES: dict[str, Callable[..., Run]] = {"pause": transitions.request_pause, "cancel": transitions.request_cancel}
# What the holder is told once the wish is due, and where the run then stands.
TOLD = {"pause": errors.RunPaused, "cancel": errors.RunCancelled}
AXES = {"pause": ("running", "parked"), "cancel": ("cancelled", "cancelled")}
both = pytest.mark.parametrize("wish", WISHES)


def wished(made: Made, wish: str, grace_ms: int = GRACE_MS, reason: str | None = "the disk is full") -> Made:
    """The same run with a wish over its holder."""
    WISHES[wish](made.project, made.run_id, grace_ms, OPERATOR, reason)
    return made


def carried_out(made: Made, wish: str) -> bool:
    """Whether what was wished has happened, by the name of whoever wished it."""
    event = next(event for event in reversed(made.events) if event.type in ("run.paused", "run.queue_cancelled"))
    payload = canonical.loads(event.payload.encode())
    assert isinstance(payload, dict)
    assert (event.actor_id, payload["reason"]) == ("operator", "the disk is full")
    lease = made.lease
    assert (lease.wish, lease.wish_due_at, lease.wish_actor_id, lease.owner_id) == (None, None, None, None)
    return made.axes == AXES[wish] and made.run.paused == (wish == "pause")


@both
def test_a_wish_is_an_event_and_leaves_the_holder_at_work(
    project: Project, make: RunBuilder, clock: FrozenClock, wish: str
) -> None:
    made = wished(make.running(), wish)

    event = made.events[-1]
    due_at = clock.at + timedelta(milliseconds=GRACE_MS)
    assert (event.type, event.actor_type, event.generation) == (f"run.{wish}_requested", "human", 1)
    assert canonical.loads(event.payload.encode()) == {
        "dueAt": int(due_at.timestamp() * 1000),
        "reason": "the disk is full",
    }
    assert (made.axes, made.lease.owner_id) == (("running", "running"), HOST)


@both
def test_every_renewal_tells_the_holder_of_the_wish(
    project: Project, make: RunBuilder, clock: FrozenClock, wish: str
) -> None:
    made = wished(make.running(), wish)
    clock.advance(GRACE_MS - 1)

    lease = transitions.renew(project, made.hold, LEASE_MS)

    assert (lease.wish, lease.wish_reason) == (wish, "the disk is full")
    assert lease.wish_due_at == clock.at + timedelta(milliseconds=1)


@both
def test_a_holder_that_parks_has_obeyed(project: Project, make: RunBuilder, wish: str) -> None:
    made = wished(make.running(), wish)

    transitions.park(project, made.hold)

    assert carried_out(made, wish)
    assert made.event_types[-2] == "run.queue_parked"


@both
@pytest.mark.parametrize("park", [transitions.park_no_progress, transitions.park_source_changed])
def test_so_has_one_that_parks_with_a_code(
    project: Project, make: RunBuilder, wish: str, park: Callable[..., Run]
) -> None:
    made = wished(make.running(), wish)

    park(project, made.hold, "because")

    assert carried_out(made, wish)


@both
def test_a_holder_may_still_complete_within_the_grace(
    project: Project, make: RunBuilder, clock: FrozenClock, wish: str
) -> None:
    made = wished(make.running(), wish)
    clock.advance(GRACE_MS - 1)

    transitions.complete(project, Completion(made.run_id, made.token))

    assert (made.axes, made.lease.wish) == (("completed", "done"), None)


@both
def test_from_the_deadline_on_the_holder_is_refused_though_nobody_has_carried_it_out(
    project: Project, make: RunBuilder, clock: FrozenClock, wish: str
) -> None:
    made = wished(make.running(), wish)
    clock.advance(GRACE_MS)
    before = snapshot_of_everything()
    calls: list[Callable[[], object]] = [
        lambda: transitions.renew(project, made.hold, LEASE_MS),
        lambda: transitions.park(project, made.hold),
        lambda: transitions.complete(project, Completion(made.run_id, made.token)),
        lambda: transitions.fail(project, Failure(made.run_id, "x", "y", made.token)),
    ]

    for call in calls:
        with pytest.raises(TOLD[wish]) as refused:
            call()
        assert refused.value.action == errors.Action.STOP

    assert snapshot_of_everything() == before


@both
def test_a_renewal_beyond_the_deadline_does_not_put_it_off(
    project: Project, make: RunBuilder, clock: FrozenClock, wish: str
) -> None:
    made = wished(make.running(), wish)
    transitions.renew(project, made.hold, 10 * LEASE_MS)
    clock.advance(GRACE_MS)

    transitions.sweep()

    assert carried_out(made, wish)


@both
def test_the_claim_that_meets_it_at_expiry_carries_it_out(make: RunBuilder, clock: FrozenClock, wish: str) -> None:
    made = wished(make.running(), wish, grace_ms=2 * LEASE_MS)
    clock.advance(LEASE_MS)
    behind = make.queued()

    assert taken(behind) == [behind.run_id]
    assert carried_out(made, wish)


@both
@pytest.mark.parametrize("after_ms", [GRACE_MS, LEASE_MS], ids=["over the live lease", "after its expiry"])
def test_the_claim_by_id_that_meets_it_carries_it_out_and_is_told(
    make: RunBuilder, clock: FrozenClock, wish: str, after_ms: int
) -> None:
    made = wished(make.running(), wish)
    clock.advance(after_ms)

    with pytest.raises(TOLD[wish]):
        make.claimed(made, "host-b")

    assert carried_out(made, wish)


@both
@pytest.mark.parametrize("claim", [transitions.claim_for_control, transitions.claim_for_validation])
def test_no_claim_forgets_it(
    project: Project, make: RunBuilder, clock: FrozenClock, wish: str, claim: Callable[..., Run]
) -> None:
    made = wished(make.running(), wish)
    clock.advance(LEASE_MS)

    if wish == "cancel":
        with pytest.raises(errors.RunCancelled):
            claim(project, made.run_id, CONTROLLER, "a token")
    else:
        claim(project, made.run_id, CONTROLLER, "a token")

    assert "run.paused" in made.event_types or made.axes == ("cancelled", "cancelled")
    assert made.run.paused == (wish == "pause")


@both
def test_a_holder_that_reclaims_is_still_told(project: Project, make: RunBuilder, wish: str) -> None:
    made = wished(make.running(), wish)
    transitions.claim(project, made.run_id, Claimant(HOST, LEASE_MS, reclaim=True), "another token")

    lease = transitions.renew(project, transitions.Hold(made.run_id, "another token"), LEASE_MS)

    assert (lease.wish, lease.generation) == (wish, 2)


@both
def test_a_wish_can_be_withdrawn(project: Project, make: RunBuilder, clock: FrozenClock, wish: str) -> None:
    made = wished(make.running(), wish)
    clock.advance(GRACE_MS - 1)

    transitions.withdraw_wish(project, made.run_id, OPERATOR, "found space")

    event = made.events[-1]
    assert (event.type, event.actor_id) == ("run.wish_withdrawn", "operator")
    assert canonical.loads(event.payload.encode()) == {"wish": wish, "reason": "found space"}
    clock.advance(1)
    assert transitions.renew(project, made.hold, LEASE_MS).wish is None


@both
def test_a_wish_that_has_come_due_can_not_be_withdrawn(
    project: Project, make: RunBuilder, clock: FrozenClock, wish: str
) -> None:
    made = wished(make.running(), wish)
    clock.advance(GRACE_MS)

    with pytest.raises(errors.NoWish):
        transitions.withdraw_wish(project, made.run_id, OPERATOR)


def test_where_nothing_is_wished_nothing_is_withdrawn(project: Project, make: RunBuilder) -> None:
    made = make.running()

    with pytest.raises(errors.NoWish):
        transitions.withdraw_wish(project, made.run_id, OPERATOR)


@both
def test_a_second_wish_waits_for_the_first(project: Project, make: RunBuilder, wish: str) -> None:
    made = wished(make.running(), "pause")

    with pytest.raises(errors.WishStands) as refused:
        wished(made, wish)

    assert (refused.value.facts["wish"], refused.value.action) == ("pause", errors.Action.RETRY)


@pytest.mark.parametrize("state", ["queued", "expired", "parked"])
@both
def test_where_nobody_holds_the_run_there_is_nobody_to_tell(make: RunBuilder, state: str, wish: str) -> None:
    made: Made = getattr(make, state)()

    with pytest.raises(errors.NobodyHolds):
        wished(made, wish)


@pytest.mark.parametrize("grace_ms", [0, -1, GRACE_LIMIT_MS + 1])
@both
def test_a_grace_is_at_most_ten_minutes(make: RunBuilder, wish: str, grace_ms: int) -> None:
    made = make.running()

    with pytest.raises(errors.Invalid):
        wished(made, wish, grace_ms=grace_ms)


def test_a_cancel_at_once_ends_the_wish(project: Project, make: RunBuilder) -> None:
    made = wished(make.running(), "pause")

    transitions.cancel(project, made.run_id, OPERATOR)

    assert (made.axes, made.lease.wish, made.lease.wish_due_at) == (("cancelled", "cancelled"), None, None)


def test_a_pause_at_once_takes_the_place_of_a_wish_that_is_not_due(project: Project, make: RunBuilder) -> None:
    made = wished(make.running(), "cancel")

    transitions.pause(project, made.run_id, OPERATOR)

    assert (made.axes, made.run.paused, made.lease.wish) == (("running", "parked"), True, None)


def test_a_pause_that_meets_a_due_cancel_finds_the_run_cancelled(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = wished(make.running(), "cancel")
    clock.advance(GRACE_MS)

    with pytest.raises(errors.RunCancelled):
        transitions.pause(project, made.run_id, OPERATOR, "too late")

    assert carried_out(made, "cancel")


def test_a_lost_runner_counts_once_though_a_wish_was_over_it(make: RunBuilder, clock: FrozenClock) -> None:
    made = lost(make, make.queued(), clock, times=2)
    clock.set(free_at(made, clock))
    made = wished(make.claimed(made), "pause")
    clock.advance(LEASE_MS)
    rests_until = free_at(made, clock)

    with pytest.raises(errors.RunPaused):
        make.claimed(made)

    assert (crashes(made), made.lease.retry_at) == (3, rests_until)


def test_a_superseded_holder_hears_of_its_lost_lease_and_not_of_a_wish_over_the_new_one(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    first = make.running()
    clock.advance(LEASE_MS)
    wished(make.claimed(first, "host-b"), "cancel")

    with pytest.raises(errors.LeaseLost):
        transitions.renew(project, first.hold, LEASE_MS)


def test_a_wish_ends_with_its_run(project: Project, make: RunBuilder) -> None:
    made = wished(make.running(), "pause")

    transitions.fail(project, Failure(made.run_id, "broken", "It broke.", made.token))

    assert (made.lease.wish, made.lease.wish_reason, made.run.error_code) == (None, None, "broken")


def test_a_cancelled_wish_is_as_final_as_a_cancel(make: RunBuilder, clock: FrozenClock) -> None:
    made = wished(make.running(), "cancel")
    clock.advance(GRACE_MS)
    transitions.sweep()

    assert (made.run.error_code, made.lease.generation) == (ErrorCode.CANCELLED, 2)
    with pytest.raises(errors.RunCancelled):
        make.claimed(made)


def test_the_database_refuses_a_wish_without_a_deadline(make: RunBuilder) -> None:
    made = make.running()

    with pytest.raises(IntegrityError), transaction.atomic():
        write_lease(made, wish="pause")
