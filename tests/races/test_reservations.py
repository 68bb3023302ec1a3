"""Reservations that meet: what only one can have goes to one, and the other is told who has it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from runs import errors, transitions
from runs.models import Project, Run, WorkflowDefinition
from runs.transitions import Reservation
from tests.builders import OPERATOR, RunBuilder
from tests.queue.test_restarting import lineage
from tests.races.meeting import Act, Crowd, codes

Pair = tuple[Reservation, Reservation]


def reserve(project: Project, asked: Reservation) -> Act:
    return partial(transitions.reserve, project, asked)


def adopt(project: Project, asked: Reservation) -> Act:
    return partial(transitions.reserve_or_adopt, project, asked)


def same_id(make: RunBuilder, number: int) -> Pair:
    return make.reservation(run_id=f"id-{number}", input=1), make.reservation(run_id=f"id-{number}", input=2)


def same_session(make: RunBuilder, number: int) -> Pair:
    session = f"shared {number}"
    return make.reservation(origin_session_id=session), make.reservation(origin_session_id=session)


def same_digest(make: RunBuilder, number: int) -> Pair:
    name = f"workflow {number}"
    first = make.reservation(workflow_name=name)
    return first, make.reservation(workflow_name=name, definition_snapshot={"name": name, "steps": 2})


def same_digest_under_two_names(make: RunBuilder, number: int) -> Pair:
    first = make.reservation(workflow_name=f"workflow {number}")
    return first, make.reservation(workflow_name=f"new {number}", definition_digest=first.definition_digest)


@pytest.mark.parametrize(
    ("pair", "code"),
    [
        (same_id, "already_reserved"),
        (same_session, "session_busy"),
        (same_digest, "definition_conflict"),
        (same_digest_under_two_names, "definition_conflict"),
    ],
    ids=["id", "session", "digest", "digest, other name"],
)
def test_what_only_one_can_have_goes_to_one(
    project: Project, make: RunBuilder, few_rounds: int, pair: Callable[[RunBuilder, int], Pair], code: str
) -> None:
    with Crowd(2) as crowd:
        for number in range(few_rounds):
            first, second = pair(make, number)

            outcomes = crowd.at_once(reserve(project, first), reserve(project, second))

            assert codes(outcomes) == sorted(["done", code]), number
    assert Run.objects.count() == few_rounds


def test_the_same_request_twice_at_once_makes_one_run_that_both_get(
    project: Project, make: RunBuilder, rounds: int
) -> None:
    with Crowd(2) as crowd:
        for _ in range(rounds):
            asked = make.reservation(input={"a": 1, "b": 2})
            again = replace(asked, input={"b": 2.0, "a": 1})

            one, other = crowd.at_once(adopt(project, asked), adopt(project, again))

            assert one.run.pk == other.run.pk
            assert sorted([one.adopted, other.adopted]) == [False, True]


def test_other_content_under_an_id_in_flight_is_a_conflict_that_says_so(
    project: Project, make: RunBuilder, rounds: int
) -> None:
    with Crowd(2) as crowd:
        for _ in range(rounds):
            asked = make.reservation(input={"n": 1})

            outcomes = crowd.at_once(adopt(project, asked), adopt(project, replace(asked, input={"n": 2})))

            (refused,) = [outcome for outcome in outcomes if isinstance(outcome, errors.Refusal)]
            assert (refused.code, refused.facts["fields"]) == ("preparation_conflict", ["input"])


def test_twins_that_share_all_but_their_ids_are_both_made(project: Project, make: RunBuilder, rounds: int) -> None:
    with Crowd(4) as crowd:
        for number in range(rounds // 4):
            name = f"new workflow {number}"
            batch = [make.reservation(workflow_name=name, input=[name]) for _ in range(4)]

            outcomes = crowd.at_once(*[reserve(project, asked) for asked in batch])

            assert codes(outcomes) == ["done"] * 4
    assert WorkflowDefinition.objects.count() == rounds // 4


def test_a_parent_has_one_restart_however_many_ask(project: Project, make: RunBuilder, rounds: int) -> None:
    parents = make.many(rounds)
    for start in range(0, rounds, 100):
        transitions.cancel_all(project, [made.run_id for made in parents[start : start + 100]], OPERATOR)

    with Crowd(2) as crowd:
        for parent in parents:
            facts: dict[str, Any] = lineage(parent, execution_mode="headless")

            outcomes = crowd.at_once(*[reserve(project, make.reservation(**facts)) for _ in range(2)])

            (child,) = Run.objects.filter(parent=parent.key)
            (refused,) = [outcome for outcome in outcomes if isinstance(outcome, errors.Refusal)]
            assert (refused.code, refused.facts) == ("parent_already_restarted", {"run_id": child.run_id})
