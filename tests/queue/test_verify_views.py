"""The proof about viewers: what events told them, folded, is what stands; what was never told is found."""

import pytest

from runs import transitions, verify
from runs.models import Event, NodeAttempt, Run
from tests.builders import OPERATOR, Made, RunBuilder
from tests.queue.people_cast import PeopleBuilder


@pytest.fixture(autouse=True)
def sound() -> None:
    """What these tests leave behind is broken on purpose."""


@pytest.fixture
def made(make: RunBuilder) -> Made:
    made = make.running()
    make.attempt(made, "node", "a")
    return made


def found() -> list[tuple[str, str]]:
    return [(violation.rule, violation.detail) for violation in verify.violations()]


def test_what_transitions_tell_is_what_stands(make: RunBuilder, made: Made) -> None:
    people = PeopleBuilder(make)
    people.settled()
    people.undecided().answer()
    transitions.complete_attempt(made.project, made.hold, "a", {"x": 1}, active_ms=12)
    made = make.running()
    transitions.pause(made.project, made.run_id, OPERATOR)
    make.failed()

    assert found() == []


def test_a_row_that_moved_without_being_told_is_found(made: Made) -> None:
    Run.objects.filter(pk=made.key).update(status_detail="moved by hand")

    assert found() == [("view", "what its events told viewers is not what stands at /summary/status_detail")]


def test_an_entry_that_moved_without_being_told_is_found(made: Made) -> None:
    NodeAttempt.objects.filter(run=made.key).update(node_type="another")

    assert found() == [("view", "what its events told viewers is not what stands at /timeline/attempts/a/node_type")]


def test_what_renewals_move_is_nothing_to_be_told(made: Made) -> None:
    observation = transitions.Observation("a", {"done": 0.5}, active_ms=40)
    transitions.renew(made.project, transitions.Beat(made.run_id, made.token, observation), 60_000)

    assert found() == []


def test_runs_from_before_there_were_views_are_passed_over(made: Made) -> None:
    Event.objects.filter(run=made.key, revision=1).update(changes=None)

    # The event itself was tampered with; but nothing can be said of the view.
    assert [rule for rule, _ in found()] == ["chain"]
