"""A transition that is cut off leaves the state before it, wherever it is cut off; repeated, it succeeds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import OperationalError, connection

from runs import clock, transitions
from runs.models import AccessToken, Event, Project, Receipt, Run
from runs.states import TERMINAL_EVENTS, Scope
from runs.transitions import Answer, AttemptStart, Claimant, Completion, Failure, Note, Observation
from tests.builders import HOST, LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder, snapshot_of_everything

pytestmark = pytest.mark.django_db(transaction=True)

Act = Callable[[], object]


class Crash(Exception):
    """The process dies here."""


@dataclass
class Countdown:
    """Crashes before the statement of that number, counted from nought."""

    left: int
    is_over: bool = False

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if self.left == 0:
            self.is_over = True
            raise Crash(sql)
        self.left -= 1
        return execute(sql, params, many, context)


def crashes_before(number: int, act: Act) -> bool:
    """Whether the transition got so far as to crash before the statement of that number."""
    countdown = Countdown(number)
    with connection.execute_wrapper(countdown):
        try:
            act()
        except Crash:
            return True
    # A verb that swallows the crash would show as a success with a hole in it.
    assert not countdown.is_over
    return False


@contextmanager
def a_commit_that_fails(*, lands: bool) -> Iterator[None]:
    """The next commit breaks the connection, before the database has heard of it or after."""
    wrapper: Any = connection
    really = wrapper._commit

    def commit() -> None:
        wrapper._commit = really
        if lands:
            really()
        raise OperationalError("the connection broke during commit")

    wrapper._commit = commit
    try:
        yield
    finally:
        wrapper._commit = really


def _reserve(make: RunBuilder) -> Act:
    batch = [make.reservation(workflow_name=name, input=name) for name in ("inventory", "new one")]
    return lambda: transitions.reserve_all(make.project, batch)


def _restart(make: RunBuilder) -> Act:
    parent = make.failed(origin_session_id="one")
    child = make.reservation(
        parent_run_id=parent.run_id,
        lineage_kind="restart",
        parent_run_revision=parent.run.revision,
        origin_session_id="one",
    )
    return lambda: transitions.reserve(make.project, child)


def _claim(make: RunBuilder) -> Act:
    made = make.expired()
    return lambda: transitions.claim(make.project, made.run_id, Claimant("host-b", LEASE_MS), "a token")


def _claim_next(make: RunBuilder) -> Act:
    make.queued()
    make.expired()
    return lambda: transitions.claim_next(make.project, Claimant("host-b", LEASE_MS), ["a token", "another"])


def _renew(make: RunBuilder) -> Act:
    made = make.running()
    return lambda: transitions.renew(make.project, made.hold, 2 * LEASE_MS)


def _mark_running(make: RunBuilder) -> Act:
    made = make.starting()
    return lambda: transitions.mark_running(make.project, made.hold)


def _park(make: RunBuilder) -> Act:
    made = make.running()
    return lambda: transitions.park(make.project, made.hold)


def _with_attempts(make: RunBuilder) -> Made:
    made = make.running()
    done = make.attempt(made, "done")
    transitions.complete_attempt(make.project, made.hold, done, "kept")
    make.attempt(made, "open", "open")
    return made


def _complete(make: RunBuilder) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.complete(make.project, Completion(made.run_id, made.token, {"x": 1}))


def _fail(make: RunBuilder) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.fail(make.project, Failure(made.run_id, "broken", "It broke.", made.token))


def _cancel(make: RunBuilder) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.cancel(make.project, made.run_id, OPERATOR, "no longer wanted")


def _cancel_stale(make: RunBuilder) -> Act:
    made = make.expired()
    return lambda: transitions.cancel_stale(make.project, made.run_id)


def _record_event(make: RunBuilder) -> Act:
    made = make.queued()
    return lambda: transitions.record_event(make.project, Note(made.run_id, "seen"), OPERATOR)


def _start_attempt(make: RunBuilder) -> Act:
    lost = make.expired()
    with clock.frozen(lost.run.head_at):
        make.attempt(lost, "node", "old")
    made = make.claimed(lost, "host-b")
    transitions.mark_running(make.project, made.hold)
    return lambda: transitions.start_attempt(make.project, made.hold, AttemptStart("new", "node", input=1))


def _progress_attempt(make: RunBuilder) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.progress_attempt(make.project, made.hold, Observation("open", 0.5))


def _complete_attempt(make: RunBuilder) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.complete_attempt(make.project, made.hold, "open", 2)


def _fail_attempt(make: RunBuilder) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.fail_attempt(make.project, made.hold, "open", "It broke.")


def _park_no_progress(make: RunBuilder) -> Act:
    made = make.running()
    return lambda: transitions.park_no_progress(make.project, made.hold, "Nothing moves.")


def _park_ambiguous_effect(make: RunBuilder) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.park_ambiguous_effect(make.project, made.hold)


def _request_resume(make: RunBuilder) -> Act:
    made = make.paused()
    return lambda: transitions.request_resume(make.project, made.run_id)


def _delete(make: RunBuilder) -> Act:
    made = _with_attempts(make)
    return lambda: transitions.delete(make.project, made.hold)


def _command_with_receipt(make: RunBuilder) -> Act:
    token, _ = transitions.issue_access_token(make.project, "runner", [Scope.RUNS_EXECUTE])
    made = make.running()

    def command() -> Answer:
        run = transitions.complete(make.project, Completion(made.run_id, made.token))
        return Answer(200, run.run_id)

    return lambda: transitions.answered_once(token, "key", b"r" * 32, command)


SCENES: list[Callable[[RunBuilder], Act]] = [
    _reserve,
    _restart,
    _claim,
    _claim_next,
    _renew,
    _mark_running,
    _park,
    _complete,
    _fail,
    _cancel,
    _cancel_stale,
    _record_event,
    _start_attempt,
    _progress_attempt,
    _complete_attempt,
    _fail_attempt,
    _park_no_progress,
    _park_ambiguous_effect,
    _request_resume,
    _delete,
    _command_with_receipt,
]


@pytest.fixture(params=SCENES, ids=lambda scene: scene.__name__.strip("_"))
def act(request: pytest.FixtureRequest, make: RunBuilder, clock: FrozenClock) -> Act:
    """A transition that is about to be made, on a state that allows it."""
    scene: Callable[[RunBuilder], Act] = request.param
    act = scene(make)
    clock.advance(7)
    return act


def test_a_crash_before_any_statement_leaves_the_state_before(act: Act) -> None:
    before = snapshot_of_everything()

    number = 0
    while crashes_before(number, act):
        assert snapshot_of_everything() == before, f"after a crash before statement {number}"
        number += 1

    assert number > 1
    assert snapshot_of_everything() != before


def test_a_commit_that_fails_leaves_the_state_before(act: Act) -> None:
    before = snapshot_of_everything()

    with a_commit_that_fails(lands=False), pytest.raises(OperationalError):
        act()
    after_the_failure = snapshot_of_everything()
    act()

    assert after_the_failure == before
    assert snapshot_of_everything() != before


@pytest.fixture
def token(project: Project) -> AccessToken:
    return transitions.issue_access_token(project, "client", [Scope.RUNS_EXECUTE])[0]


def test_a_reservation_whose_answer_was_lost_is_found_by_asking_again(project: Project, make: RunBuilder) -> None:
    asked = make.reservation()
    with a_commit_that_fails(lands=True), pytest.raises(OperationalError):
        transitions.reserve_or_adopt(project, asked)

    reserved = transitions.reserve_or_adopt(project, asked)

    assert reserved.adopted
    assert Run.objects.count() == 1


@pytest.mark.parametrize("verb", ["reserve", "complete", "cancel", "restart"])
def test_a_command_whose_answer_was_lost_is_answered_by_its_receipt(
    project: Project, make: RunBuilder, token: AccessToken, verb: str
) -> None:
    running, ended = make.running(), make.failed(origin_session_id="one")
    new = make.reservation()
    child = make.reservation(
        parent_run_id=ended.run_id,
        lineage_kind="restart",
        parent_run_revision=ended.run.revision,
        origin_session_id="one",
    )
    commands: dict[str, Callable[[], Run]] = {
        "reserve": lambda: transitions.reserve(project, new),
        "complete": lambda: transitions.complete(project, Completion(running.run_id, running.token)),
        "cancel": lambda: transitions.cancel(project, running.run_id, OPERATOR),
        "restart": lambda: transitions.reserve(project, child),
    }

    def command() -> Answer:
        return Answer(200, commands[verb]().run_id)

    with a_commit_that_fails(lands=True), pytest.raises(OperationalError):
        transitions.answered_once(token, "key", b"r" * 32, command)
    landed = snapshot_of_everything()

    answer = transitions.answered_once(token, "key", b"r" * 32, command)

    assert (answer.replayed, Receipt.objects.count()) == (True, 1)
    assert snapshot_of_everything() == landed


def test_a_completion_that_failed_half_way_is_repeated_under_the_same_lease(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.running(owner_id=HOST)
    completion = Completion(made.run_id, made.token, {"x": 1})
    crashes_before(5, lambda: transitions.complete(project, completion))
    clock.advance(LEASE_MS - 1)
    transitions.renew(project, made.hold, LEASE_MS)
    clock.advance(LEASE_MS - 1)

    transitions.complete(project, completion)

    assert Event.objects.filter(type__in=TERMINAL_EVENTS).count() == 1


def test_a_runner_that_gave_up_after_a_failed_completion_needs_not_be_alive_to_lose_the_run(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.running()
    with a_commit_that_fails(lands=False), pytest.raises(OperationalError):
        transitions.complete(project, Completion(made.run_id, made.token))
    clock.advance(LEASE_MS)

    (run,) = transitions.claim_next(project, Claimant("host-b", LEASE_MS), ["a token"])

    assert run.run_id == made.run_id
