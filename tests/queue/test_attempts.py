"""Attempts: a step that was completed once is never done again, whoever holds the run."""

import pytest

from runs import errors, transitions
from runs.models import NodeAttempt, Project
from runs.transitions import AttemptStart, Claimant
from runs.transitions.attempts import LEFT_OPEN
from runs.transitions.observing import PROGRESS_LIMIT
from tests.builders import LEASE_MS, START, FrozenClock, Made, RunBuilder, snapshot_of_everything


def start(made: Made, node_id: str, attempt_id: str) -> tuple[NodeAttempt, bool]:
    return transitions.start_attempt(made.project, made.hold, AttemptStart(attempt_id, node_id, input={"n": 1}))


@pytest.fixture
def held(make: RunBuilder) -> Made:
    return make.running()


@pytest.fixture
def taken_over(project: Project, make: RunBuilder, held: Made, clock: FrozenClock) -> Made:
    """The same run after another runner has taken it over; an attempt `old` of `node` was open."""
    start(held, "node", "old")
    clock.advance(LEASE_MS)
    made = make.claimed(held, "host-b")
    transitions.mark_running(project, made.hold)
    return made


def test_an_attempt_is_started_under_the_holders_generation(held: Made) -> None:
    attempt, is_new = start(held, "node", "first")

    assert (is_new, attempt.status, attempt.attempt_number, attempt.generation) == (True, "running", 1, 1)
    (stored,) = held.attempts
    assert (stored.attempt_id, stored.node_id, stored.started_at) == ("first", "node", START)
    assert stored.input is not None
    assert bytes(stored.input.content) == b'{"n":1}'
    assert held.event_types[-1] == "attempt.started"


def test_starting_the_same_attempt_again_gives_it_back(held: Made) -> None:
    start(held, "node", "first")
    before = snapshot_of_everything()

    attempt, is_new = start(held, "node", "first")

    assert (attempt.attempt_id, is_new) == ("first", False)
    assert snapshot_of_everything() == before


def test_a_completed_step_is_given_back_with_its_output(project: Project, held: Made) -> None:
    start(held, "node", "first")
    transitions.complete_attempt(project, held.hold, "first", {"sum": 3})
    before = snapshot_of_everything()

    attempt, is_new = start(held, "node", "second")

    assert (attempt.attempt_id, attempt.status, is_new) == ("first", "completed", False)
    assert attempt.output is not None
    assert bytes(attempt.output.content) == b'{"sum":3}'
    assert snapshot_of_everything() == before


def test_a_completed_step_is_given_back_to_the_next_holder(
    project: Project, make: RunBuilder, held: Made, clock: FrozenClock
) -> None:
    start(held, "node", "first")
    transitions.complete_attempt(project, held.hold, "first", "kept")
    clock.advance(LEASE_MS)
    second = make.claimed(held, "host-b")
    transitions.mark_running(project, second.hold)

    attempt, is_new = start(second, "node", "another")

    assert (attempt.attempt_id, attempt.generation, is_new) == ("first", 1, False)


def test_an_attempt_that_a_lost_runner_left_open_fails_when_the_node_is_tried_again(taken_over: Made) -> None:
    attempt, is_new = start(taken_over, "node", "new")

    assert (is_new, attempt.attempt_number, attempt.generation) == (True, 2, 2)
    lost, _ = taken_over.attempts
    assert (lost.status, lost.generation) == ("failed", 1)
    assert lost.error is not None
    assert bytes(lost.error.content).decode() == LEFT_OPEN
    assert taken_over.event_types[-2:] == ["attempt.failed", "attempt.started"]


def test_the_lost_runner_itself_completes_nothing_more(project: Project, held: Made, taken_over: Made) -> None:
    before = snapshot_of_everything()

    with pytest.raises(errors.LeaseLost):
        transitions.complete_attempt(project, held.hold, "old", "late")

    assert snapshot_of_everything() == before


def test_an_older_generations_attempt_is_over_for_the_new_holder_too(project: Project, taken_over: Made) -> None:
    with pytest.raises(errors.AttemptSettled):
        transitions.complete_attempt(project, taken_over.hold, "old", "not its own")


def test_an_older_generations_attempt_is_not_started_again_under_its_id(taken_over: Made) -> None:
    with pytest.raises(errors.AttemptSettled):
        start(taken_over, "node", "old")


def test_a_node_has_one_open_attempt_at_a_time(held: Made) -> None:
    start(held, "node", "first")

    with pytest.raises(errors.AttemptOpen) as refused:
        start(held, "node", "second")

    assert refused.value.facts == {"attempt_id": "first", "node_id": "node"}


def test_an_attempt_id_belongs_to_one_node(held: Made) -> None:
    start(held, "node", "first")

    with pytest.raises(errors.AttemptConflict):
        start(held, "another node", "first")


def test_several_nodes_are_tried_at_once(held: Made) -> None:
    start(held, "left", "1")
    start(held, "right", "2")

    assert [(a.node_id, a.attempt_number, a.status) for a in held.attempts] == [
        ("left", 1, "running"),
        ("right", 1, "running"),
    ]


def test_a_failed_node_is_tried_again_under_the_next_number(project: Project, held: Made) -> None:
    start(held, "node", "first")
    transitions.fail_attempt(project, held.hold, "first", "It broke.")

    attempt, _ = start(held, "node", "second")

    assert attempt.attempt_number == 2
    failed, _ = held.attempts
    assert failed.error is not None
    assert (failed.status, bytes(failed.error.content)) == ("failed", b"It broke.")


@pytest.mark.parametrize("end", ["completed", "failed"])
def test_an_attempt_ends_once(project: Project, held: Made, end: str) -> None:
    start(held, "node", "first")
    if end == "completed":
        transitions.complete_attempt(project, held.hold, "first")
    else:
        transitions.fail_attempt(project, held.hold, "first", "It broke.")
    before = snapshot_of_everything()

    with pytest.raises(errors.AttemptSettled) as refused:
        transitions.complete_attempt(project, held.hold, "first", "again")

    assert refused.value.facts["status"] == end
    assert snapshot_of_everything() == before


def test_progress_moves_without_an_event(project: Project, held: Made, clock: FrozenClock) -> None:
    start(held, "node", "first")
    events = len(held.events)
    clock.advance(5)

    transitions.progress_attempt(project, held.hold, transitions.Observation("first", {"done": 0.5}))

    (attempt,) = held.attempts
    assert (attempt.progress, attempt.updated_at) == ('{"done":0.5}', clock.at)
    assert len(held.events) == events


def test_progress_is_limited(project: Project, held: Made) -> None:
    start(held, "node", "first")

    with pytest.raises(errors.InvalidDocument) as refused:
        transitions.progress_attempt(project, held.hold, transitions.Observation("first", "x" * PROGRESS_LIMIT))

    assert refused.value.code == "payload_too_large"


def test_an_unknown_attempt_is_not_found(project: Project, held: Made) -> None:
    with pytest.raises(errors.AttemptNotFound):
        transitions.complete_attempt(project, held.hold, "nothing")


def test_another_runs_attempt_is_not_found(project: Project, make: RunBuilder, held: Made) -> None:
    start(held, "node", "first")
    other = make.running()

    with pytest.raises(errors.AttemptNotFound):
        transitions.complete_attempt(project, other.hold, "first")


def test_a_run_must_be_running_for_attempts(make: RunBuilder) -> None:
    made = make.starting()

    with pytest.raises(errors.RunNotRunning):
        start(made, "node", "first")


def test_the_same_names_in_two_runs_are_two(make: RunBuilder, held: Made) -> None:
    start(held, "node", "first")

    _, is_new = start(make.running(), "node", "first")

    assert is_new


def test_a_parked_runs_open_attempt_waits_for_the_next_try(project: Project, make: RunBuilder, held: Made) -> None:
    start(held, "node", "first")
    transitions.park(project, held.hold)
    (run,) = transitions.claim_next(project, Claimant("host-b", LEASE_MS), ["next token"])
    second = Made(project, run.run_id, "next token")
    transitions.mark_running(project, second.hold)

    start(second, "node", "second")

    assert [attempt.status for attempt in second.attempts] == ["failed", "running"]
