"""Batches that meet in opposite orders: no deadlock, since all lock and insert in one order."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from runs import transitions
from runs.models import Project
from runs.transitions import Claimant, Completion, Failure
from tests.builders import LEASE_MS, OPERATOR, Made, RunBuilder
from tests.races.meeting import Act, Crowd, codes, without_deadlocks

SIZE = 20

Batch = Callable[[Sequence[Made]], Act]


def completed(runs: Sequence[Made]) -> Act:
    return partial(
        transitions.complete_all, runs[0].project, [Completion(made.run_id, made.token, made.run_id) for made in runs]
    )


def failed(runs: Sequence[Made]) -> Act:
    return partial(
        transitions.fail_all, runs[0].project, [Failure(made.run_id, "broken", "Why.", made.token) for made in runs]
    )


def cancelled(runs: Sequence[Made]) -> Act:
    return partial(transitions.cancel_all, runs[0].project, [made.run_id for made in runs], OPERATOR)


def paused(runs: Sequence[Made]) -> Act:
    return partial(transitions.pause_all, runs[0].project, [made.run_id for made in runs], OPERATOR)


def parked(runs: Sequence[Made]) -> Act:
    return partial(transitions.park_all, runs[0].project, [made.hold for made in runs])


def renewed(runs: Sequence[Made]) -> Act:
    return partial(transitions.renew_all, runs[0].project, [made.hold for made in runs], LEASE_MS)


def swept(runs: Sequence[Made]) -> Act:
    return transitions.sweep


def claimed(runs: Sequence[Made]) -> Act:
    tokens = [f"new {made.token}" for made in runs]
    return partial(transitions.claim_next, runs[0].project, Claimant("host-b", LEASE_MS), tokens)


MEETINGS: list[tuple[Batch, Batch]] = [
    (completed, completed),
    (completed, cancelled),
    (completed, renewed),
    (failed, paused),
    (parked, claimed),
    (renewed, cancelled),
    (swept, cancelled),
]


@pytest.mark.parametrize(
    ("one", "other"), MEETINGS, ids=[f"{one.__name__} and {other.__name__}" for one, other in MEETINGS]
)
def test_batches_in_opposite_orders_do_not_deadlock(
    make: RunBuilder, few_rounds: int, one: Batch, other: Batch
) -> None:
    with without_deadlocks(), Crowd(2) as crowd:
        for _ in range(few_rounds // 4):
            runs = make.many_running(SIZE)

            crowd.at_once(one(runs), other(runs[::-1]))

            transitions.cancel_all(make.project, [made.run_id for made in runs], OPERATOR)


def test_reservations_of_the_same_runs_in_opposite_orders_do_not_deadlock(
    project: Project, make: RunBuilder, few_rounds: int
) -> None:
    with without_deadlocks(), Crowd(2) as crowd:
        for number in range(few_rounds // 4):
            batch = [
                make.reservation(workflow_name=f"workflow {number}-{n}", input=[number, n], execution_mode="headless")
                for n in range(SIZE)
            ]

            one, other = crowd.at_once(
                partial(transitions.reserve_all, project, batch, adopt=True),
                partial(transitions.reserve_all, project, batch[::-1], adopt=True),
            )

            adopted = [first.adopted + second.adopted for first, second in zip(one, other[::-1], strict=True)]
            assert adopted == [1] * SIZE


def test_batches_that_want_each_others_sessions_are_sorted_out(project: Project, make: RunBuilder) -> None:
    # Two unique keys can't both be in order. PostgreSQL breaks the circle, and the one that it stopped tries again.
    with Crowd(2) as crowd:
        for number in range(3):
            sessions = [f"{number} left", f"{number} right"]
            one, other = (
                [make.reservation(origin_session_id=session) for session in order]
                for order in (sessions, sessions[::-1])
            )

            outcomes = crowd.at_once(
                partial(transitions.reserve_all, project, one), partial(transitions.reserve_all, project, other)
            )

            assert codes([outcome for batch in outcomes for outcome in batch]) == ["done"] * 2 + ["session_busy"] * 2
