"""Receipts: a command repeated under its key is answered as before, another one under the same key is refused."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from runs import errors, transitions
from runs.models import AccessToken, Project, Receipt
from runs.states import Scope
from runs.transitions import Answer, Completion
from tests.builders import OPERATOR, FrozenClock, Made, RunBuilder, snapshot_of_everything

REQUEST = b"r" * 32
OTHER_REQUEST = b"o" * 32
KEY = "key-1"


@pytest.fixture
def token(project: Project) -> AccessToken:
    token, _ = transitions.issue_access_token(project, "runner", [Scope.RUNS_EXECUTE])
    return token


@pytest.fixture
def complete(make: RunBuilder) -> Callable[[], Answer]:
    """A command that works once: it completes a run."""
    made = make.running()

    def command() -> Answer:
        run = transitions.complete(made.project, Completion(made.run_id, made.token, {"x": 1}))
        return Answer(200, {"run_id": run.run_id, "revision": run.revision})

    return command


def test_a_command_is_done_and_its_answer_kept(token: AccessToken, complete: Callable[[], Answer]) -> None:
    answer = transitions.answered_once(token, KEY, REQUEST, complete)

    receipt = Receipt.objects.get()
    assert (answer.status, answer.replayed) == (200, False)
    assert (receipt.key, receipt.status, receipt.answer) == (KEY, 200, '{"revision":4,"run_id":"run-1"}')


def test_a_repetition_gets_the_same_answer_and_changes_nothing(
    token: AccessToken, complete: Callable[[], Answer]
) -> None:
    first = transitions.answered_once(token, KEY, REQUEST, complete)
    before = snapshot_of_everything()

    second = transitions.answered_once(token, KEY, REQUEST, complete)

    assert (second.status, second.body, second.replayed) == (first.status, first.body, True)
    assert snapshot_of_everything() == before


def test_the_answer_stays_as_it_was_though_the_run_moved_on(
    project: Project, make: RunBuilder, token: AccessToken
) -> None:
    made = make.running()

    def park() -> Answer:
        return Answer(200, {"queue_status": transitions.park(project, made.hold).queue_status})

    transitions.answered_once(token, KEY, REQUEST, park)
    transitions.cancel(project, made.run_id, OPERATOR)

    again = transitions.answered_once(token, KEY, REQUEST, park)

    assert again.body == {"queue_status": "parked"}


def test_another_request_under_the_same_key_is_a_conflict(token: AccessToken, complete: Callable[[], Answer]) -> None:
    transitions.answered_once(token, KEY, REQUEST, complete)
    before = snapshot_of_everything()

    with pytest.raises(errors.ReceiptConflict) as refused:
        transitions.answered_once(token, KEY, OTHER_REQUEST, complete)

    assert refused.value.facts == {"key": KEY}
    assert snapshot_of_everything() == before


def test_a_refused_command_leaves_no_receipt_and_may_be_tried_again(
    project: Project, make: RunBuilder, token: AccessToken
) -> None:
    busy = make.queued(origin_session_id="busy")

    def reserve() -> Answer:
        run = transitions.reserve(project, make.reservation(run_id="wanted", origin_session_id="busy"))
        return Answer(201, run.run_id)

    with pytest.raises(errors.SessionBusy):
        transitions.answered_once(token, KEY, REQUEST, reserve)
    left = Receipt.objects.count()
    transitions.cancel(project, busy.run_id, OPERATOR)
    answer = transitions.answered_once(token, KEY, REQUEST, reserve)

    assert (left, answer) == (0, Answer(201, "wanted"))


def test_what_a_command_did_before_it_was_refused_is_undone(
    project: Project, make: RunBuilder, token: AccessToken
) -> None:
    first, done = make.running(), make.completed()

    def two_steps() -> Answer:
        transitions.park(project, first.hold)
        transitions.park(project, done.hold)
        raise AssertionError("the second step is refused")

    before = snapshot_of_everything()
    with pytest.raises(errors.RunFinished):
        transitions.answered_once(token, KEY, REQUEST, two_steps)

    assert snapshot_of_everything() == before


@pytest.mark.parametrize(
    ("age", "is_kept"), [(timedelta(hours=24, milliseconds=-1), True), (timedelta(hours=24), False)]
)
def test_a_receipt_is_kept_for_a_day(token: AccessToken, clock: FrozenClock, age: timedelta, is_kept: bool) -> None:
    transitions.answered_once(token, KEY, REQUEST, lambda: Answer(200, "first"))
    clock.set(clock.at + age)

    answer = transitions.answered_once(token, KEY, REQUEST, lambda: Answer(200, "second"))

    assert (answer.body, answer.replayed) == (("first", True) if is_kept else ("second", False))
    assert Receipt.objects.count() == 1


def test_keys_belong_to_their_access_token(project: Project, token: AccessToken) -> None:
    other, _ = transitions.issue_access_token(project, "another runner", [Scope.RUNS_EXECUTE])
    transitions.answered_once(token, KEY, REQUEST, lambda: Answer(200, "mine"))

    answer = transitions.answered_once(other, KEY, OTHER_REQUEST, lambda: Answer(200, "theirs"))

    assert answer == Answer(200, "theirs")


@pytest.mark.parametrize("key", ["Order-7", "order-7", "ORDER-7", "Order-7 ", " Order-7", "k" * 200])
def test_keys_are_compared_byte_by_byte(token: AccessToken, key: str) -> None:
    transitions.answered_once(token, "oRDER-7", REQUEST, lambda: Answer(200, "first"))

    answer = transitions.answered_once(token, key, OTHER_REQUEST, lambda: Answer(200, "second"))

    assert answer.body == "second"


def test_a_receipt_holds_no_secret(
    project: Project, make: RunBuilder, token: AccessToken, complete: Callable[[], Answer]
) -> None:
    made: Made = make.running()

    transitions.answered_once(token, KEY, REQUEST, complete)

    row = repr(Receipt.objects.values().get())
    assert made.token not in row
    assert "token" not in Receipt.objects.get().answer


def test_answers_keep_every_digit(token: AccessToken) -> None:
    transitions.answered_once(token, KEY, REQUEST, lambda: Answer(200, {"n": 10**40 + 1}))

    again = transitions.answered_once(token, KEY, REQUEST, lambda: Answer(500, None))

    assert again.body == {"n": 10**40 + 1}
