"""Batches cost a constant number of statements: as many for a hundred items as for one or for ten."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from runs import errors, transitions
from runs.states import Priority
from runs.transitions import Claimant, Completion, Failure
from tests.builders import HOST, LEASE_MS, OPERATOR, Made, RunBuilder

SIZES = (1, 10, 100)
CLAIMANT = Claimant(HOST, LEASE_MS)

Prepare = Callable[[RunBuilder, int], Callable[[], Sequence[Any]]]


def many(make: RunBuilder, size: int) -> list[Made]:
    """So many queued runs of as many workflows, with documents of their own."""
    batch = [make.reservation(workflow_name=f"workflow {size}-{n}", input=[size, n]) for n in range(size)]
    transitions.reserve_all(make.project, batch)
    in_claim_order = sorted(asked.run_id for asked in batch)
    return [Made(make.project, run_id, f"token {size}-{n}") for n, run_id in enumerate(in_claim_order)]


def held(make: RunBuilder, size: int) -> list[Made]:
    """The same, claimed and running, each with an open attempt of the first of them."""
    runs = many(make, size)
    transitions.claim_next(make.project, CLAIMANT, [made.token for made in runs])
    transitions.mark_running_all(make.project, [made.hold for made in runs])
    make.attempt(runs[0])
    return runs


def reserving(make: RunBuilder, size: int) -> Callable[[], Sequence[Any]]:
    batch = [
        make.reservation(workflow_name=f"new {size}-{n}", input=[size, n], priority=Priority.LOW) for n in range(size)
    ]
    return lambda: transitions.reserve_all(make.project, batch)


def adopting(make: RunBuilder, size: int) -> Callable[[], Sequence[Any]]:
    batch = [make.reservation(input=[size, n]) for n in range(size)]
    transitions.reserve_all(make.project, batch)
    return lambda: transitions.reserve_all(make.project, batch, adopt=True)


def restarting(make: RunBuilder, size: int) -> Callable[[], Sequence[Any]]:
    runs = many(make, size)
    transitions.cancel_all(make.project, [made.run_id for made in runs], OPERATOR)
    batch = [
        make.reservation(
            parent_run_id=made.run_id,
            lineage_kind="restart",
            parent_run_revision=made.run.revision,
            origin_session_id=made.run.origin_session_id,
        )
        for made in runs
    ]
    return lambda: transitions.reserve_all(make.project, batch)


def claiming(make: RunBuilder, size: int) -> Callable[[], Sequence[Any]]:
    tokens = [made.token for made in many(make, size)]
    return lambda: transitions.claim_next(make.project, CLAIMANT, tokens)


def renewing(make: RunBuilder, size: int) -> Callable[[], Sequence[Any]]:
    holds = [made.hold for made in held(make, size)]
    return lambda: transitions.renew_all(make.project, holds, LEASE_MS)


def marking_running(make: RunBuilder, size: int) -> Callable[[], Sequence[Any]]:
    holds = [made.hold for made in held(make, size)]
    return lambda: transitions.mark_running_all(make.project, holds)


def parking(make: RunBuilder, size: int) -> Callable[[], Sequence[Any]]:
    holds = [made.hold for made in held(make, size)]
    return lambda: transitions.park_all(make.project, holds)


def completing(make: RunBuilder, size: int) -> Callable[[], Sequence[Any]]:
    batch = [Completion(made.run_id, made.token, [size, n]) for n, made in enumerate(held(make, size))]
    return lambda: transitions.complete_all(make.project, batch)


def failing(make: RunBuilder, size: int) -> Callable[[], Sequence[Any]]:
    batch = [Failure(made.run_id, "broken", f"{size} {n}", made.token) for n, made in enumerate(held(make, size))]
    return lambda: transitions.fail_all(make.project, batch)


def cancelling(make: RunBuilder, size: int) -> Callable[[], Sequence[Any]]:
    ids = [made.run_id for made in held(make, size)]
    return lambda: transitions.cancel_all(make.project, ids, OPERATOR)


BATCHES: list[Prepare] = [
    reserving,
    adopting,
    restarting,
    claiming,
    renewing,
    marking_running,
    parking,
    completing,
    failing,
    cancelling,
]


@pytest.mark.parametrize("prepare", BATCHES, ids=lambda prepare: prepare.__name__)
def test_the_number_of_statements_does_not_grow_with_the_batch(make: RunBuilder, prepare: Prepare) -> None:
    make.completed()
    counts = {}
    for size in SIZES:
        with transaction.atomic():
            act = prepare(make, size)
            with CaptureQueriesContext(connection) as captured:
                outcomes = act()
            transaction.set_rollback(True)

        assert len(outcomes) == size
        assert not [outcome for outcome in outcomes if isinstance(outcome, errors.Refusal)]
        counts[size] = len([query for query in captured if "SAVEPOINT" not in query["sql"]])

    assert len(set(counts.values())) == 1, counts
