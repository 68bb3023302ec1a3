"""Claiming whatever comes next: which runs are handed out, and in which order."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from runs import errors, rules, transitions
from runs.models import Lease, Project
from runs.states import ErrorCode, Priority
from runs.transitions import BATCH_LIMIT, Claimant
from tests.builders import (
    HOST,
    LEASE_MS,
    START,
    FrozenClock,
    Made,
    RunBuilder,
    snapshot_of_everything,
    write,
    write_lease,
)

RUNNER = Claimant("host-next", LEASE_MS)


def claimed(project: Project, tokens: int = 10, **wanted: list[str] | None) -> list[str]:
    """The ids of the runs that the runner gets for so many tokens, in the answer's order."""
    runs = transitions.claim_next(project, RUNNER, [f"token {n}" for n in range(tokens)], **wanted)  # type: ignore[arg-type]
    return [run.run_id for run in runs]


def test_a_run_is_held_by_the_token_at_its_place(project: Project, make: RunBuilder) -> None:
    for run_id in ("first", "second"):
        make.queued(run_id=run_id)

    runs = transitions.claim_next(project, RUNNER, ["token a", "token b", "token c"])

    assert [run.run_id for run in runs] == ["first", "second"]
    hashes = [bytes(lease.token_hash or b"") for lease in Lease.objects.order_by("pk")]
    assert hashes == [rules.token_hash("token a"), rules.token_hash("token b")]


def test_no_more_are_taken_than_there_are_tokens(project: Project, make: RunBuilder) -> None:
    for _ in range(3):
        make.queued()

    runs = transitions.claim_next(project, RUNNER, ["one token"])

    assert len(runs) == 1
    assert Lease.objects.filter(owner_id__isnull=False).count() == 1


def test_an_empty_queue_gives_nothing_and_changes_nothing(project: Project, make: RunBuilder) -> None:
    make.running()
    make.completed()
    before = snapshot_of_everything()

    assert claimed(project) == []
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("tokens", [0, BATCH_LIMIT + 1])
def test_none_and_too_many_tokens_are_refused(project: Project, tokens: int) -> None:
    with pytest.raises(errors.BatchTooLarge):
        claimed(project, tokens)


def test_a_full_batch_is_claimed_at_once(project: Project, make: RunBuilder) -> None:
    transitions.reserve_all(project, [make.reservation() for _ in range(BATCH_LIMIT)])

    assert len(claimed(project, BATCH_LIMIT)) == BATCH_LIMIT


def test_first_by_priority_then_by_availability_then_by_insertion(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    make.queued(run_id="low-and-old", priority=Priority.LOW)
    clock.advance(1)
    for run_id in ("z", "a"):
        make.queued(run_id=run_id)
    make.queued(run_id="high-and-new", priority=Priority.HIGH)
    write(make.queued(run_id="since-before"), available_at=START)

    assert claimed(project) == ["high-and-new", "since-before", "z", "a", "low-and-old"]


def test_expired_runs_stand_in_the_same_order_as_unowned_ones(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    make.queued(run_id="1-queued")
    clock.advance(1)
    make.running(run_id="2-to-expire")
    clock.advance(1)
    make.queued(run_id="3-queued")
    make.running(run_id="4-to-expire", priority=Priority.HIGH)
    clock.advance(LEASE_MS)

    assert claimed(project) == ["4-to-expire", "1-queued", "2-to-expire", "3-queued"]


def test_the_limit_cuts_expired_and_unowned_ones_alike(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    make.running(run_id="expired")
    clock.advance(1)
    make.queued(run_id="queued")
    clock.advance(LEASE_MS)

    assert claimed(project, 1) == ["expired"]


@pytest.mark.parametrize("state", ["queued", "parked", "expired"])
def test_what_nobody_holds_is_handed_out(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()

    assert claimed(project) == [made.run_id]
    assert made.run.queue_status == "starting"


@pytest.mark.parametrize(
    "state", ["starting", "running", "paused", "waiting", "completed", "failed", "timed_out", "cancelled"]
)
def test_anything_else_is_not_handed_out(project: Project, make: RunBuilder, state: str) -> None:
    getattr(make, state)()
    before = snapshot_of_everything()

    assert claimed(project) == []
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("state", ["parked", "expired", "running"])
def test_a_paused_run_is_never_handed_out(project: Project, make: RunBuilder, clock: FrozenClock, state: str) -> None:
    made: Made = getattr(make, state)()
    write(made, paused=True)
    clock.advance(LEASE_MS)

    assert claimed(project) == []


@pytest.mark.parametrize("code", [ErrorCode.RUNNER_NO_PROGRESS, ErrorCode.WORKFLOW_SOURCE_CHANGED])
def test_a_run_that_is_held_back_is_not_handed_out(project: Project, make: RunBuilder, code: str) -> None:
    write(make.parked(), error_code=code)

    assert claimed(project) == []


def test_a_run_is_handed_out_from_the_moment_when_it_is_due(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.queued()
    write(made, available_at=START + timedelta(seconds=1))

    clock.advance(999)
    early = claimed(project)
    clock.advance(1)
    due = claimed(project)

    assert (early, due) == ([], [made.run_id])


def test_a_future_run_of_high_priority_keeps_nobody_waiting(project: Project, make: RunBuilder) -> None:
    write(make.queued(priority=Priority.HIGH), available_at=START + timedelta(hours=1))
    make.queued(run_id="due")

    assert claimed(project) == ["due"]


def test_a_runner_gets_the_workflows_that_it_names(project: Project, make: RunBuilder) -> None:
    make.queued(run_id="alpha", workflow_name="alpha")
    make.queued(run_id="beta", workflow_name="beta")
    make.queued(run_id="gamma", workflow_name="gamma")

    assert claimed(project, workflows=["beta", "gamma", "unheard of"]) == ["beta", "gamma"]


def test_a_runner_may_serve_a_hundred_workflows(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    names = [f"workflow {number}" for number in range(100)]
    for name in (names[99], names[0], names[50]):
        make.queued(run_id=name.replace(" ", "-"), workflow_name=name)
        clock.advance(1)

    assert claimed(project, workflows=names) == ["workflow-99", "workflow-0", "workflow-50"]


@pytest.mark.parametrize("workflows", [["\0"], ["alpha", "\ud800"]])
def test_names_that_no_workflow_can_have_are_refused(project: Project, workflows: list[str]) -> None:
    with pytest.raises(errors.InvalidDocument):
        claimed(project, workflows=workflows)


@pytest.mark.parametrize("workflows", [[], ["unheard of"], ["ALPHA"], ["alpha "]])
def test_a_runner_that_names_other_workflows_gets_nothing(
    project: Project, make: RunBuilder, workflows: list[str]
) -> None:
    make.queued(workflow_name="alpha")

    assert claimed(project, workflows=workflows) == []


def test_a_lost_run_waits_for_a_runner_that_serves_its_workflow(project: Project, make: RunBuilder) -> None:
    lost = make.expired(workflow_name="beta")
    make.queued(run_id="mine", workflow_name="alpha")

    mine = [claimed(project, workflows=["alpha"]) for _ in range(3)]
    untouched = lost.lease.generation
    theirs = claimed(project, workflows=["beta"])

    assert (mine, untouched, theirs) == ([["mine"], [], []], 1, [lost.run_id])
    assert lost.lease.generation == 2


def test_several_workflows_are_merged_in_one_order(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    for number, name in enumerate(["b", "a", "b", "a"]):
        make.queued(run_id=f"{number}", workflow_name=name)
        clock.advance(1)

    assert claimed(project, 3, workflows=["a", "b"]) == ["0", "1", "2"]


def test_excluded_runs_are_passed_over(project: Project, make: RunBuilder) -> None:
    make.queued(run_id="not-this-one")
    make.queued(run_id="this-one")

    assert claimed(project, exclude=["not-this-one", "nobody", "a\0b"]) == ["this-one"]


def test_another_projects_runs_are_not_handed_out(make: RunBuilder, other_project: Project) -> None:
    make.queued()
    make.expired()

    assert claimed(other_project) == []
    assert claimed(other_project, workflows=["inventory"]) == []


def test_ones_own_live_run_is_not_handed_out_again(project: Project, make: RunBuilder) -> None:
    made = make.running(owner_id=HOST)

    runs = transitions.claim_next(project, Claimant(HOST, LEASE_MS), ["a second token"])

    assert (runs, made.lease.generation) == ([], 1)


def test_a_reclaim_takes_ones_own_live_runs_in_their_place(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    mine = make.running(owner_id=HOST)
    make.running(owner_id="host-b")
    clock.advance(1)
    queued = make.queued()

    runs = transitions.claim_next(project, Claimant(HOST, LEASE_MS, reclaim=True), ["1", "2", "3"])

    assert [run.run_id for run in runs] == [mine.run_id, queued.run_id]
    assert mine.lease.generation == 2


def test_a_claimed_run_is_the_callers_with_its_lease(project: Project, make: RunBuilder) -> None:
    make.queued()

    (run,) = transitions.claim_next(project, RUNNER, ["a token"])

    assert (run.queue_status, run.revision, run.lease.generation) == ("starting", 2, 1)
    assert run.lease.expires_at == START + timedelta(milliseconds=LEASE_MS)


def test_what_others_took_between_the_look_and_the_lock_costs_no_turn(project: Project, make: RunBuilder) -> None:
    # More runs than one look takes in are gone by the time they are to be locked.
    taken = [make.queued() for _ in range(12)]
    make.queued(run_id="behind-them")

    def others_take_them() -> None:
        for made in taken:
            write_lease(made, **OWNED)

    with just_before_locking(others_take_them):
        got = claimed(project, 1)

    assert got == ["behind-them"]
    for made in taken:
        write_lease(made, **dict.fromkeys(OWNED))


OWNED: dict[str, Any] = {
    "owner_type": "host",
    "owner_id": "host-quicker",
    "token_hash": bytes(32),
    "acquired_at": START,
    "heartbeat_at": START,
    "expires_at": START + timedelta(minutes=1),
    "takeover_at": START + timedelta(minutes=1),
}


@contextmanager
def just_before_locking(happens: Callable[[], object]) -> Iterator[None]:
    """What happens once, right before leases are locked that were found without a lock."""
    waiting = [happens]

    def watch(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if waiting and sql.startswith("SELECT") and '"runs_lease"."token_hash"' in sql:
            waiting.pop()()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        yield
