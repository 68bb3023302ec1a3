"""Sessions and people at the same moment: one resolution, one answer, one order, whoever comes first."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.db import connection

from runs import errors, transitions
from runs.models import (
    DecisionResolution,
    DecisionSubmission,
    InteractiveSubmission,
    Project,
    WorkflowMessage,
)
from runs.transitions import MessageDraft, RequestAsk
from tests.builders import OPERATOR, Made, RunBuilder
from tests.queue.people_cast import ANN, BOB, CAT, PeopleBuilder
from tests.soundness import assert_sound

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 20


@pytest.fixture
def people(transactional_db: None) -> PeopleBuilder:
    """On the real clock: the deadline is judged by it."""
    return PeopleBuilder(RunBuilder(Project.objects.create(path="project")))


@pytest.fixture(autouse=True)
def sound() -> Iterator[None]:
    """The invariants, without the frozen clock of the other tests."""
    yield
    assert_sound()


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each call gave, or how it was refused; all begin together, and any other fault fails the test."""
    start = threading.Barrier(len(calls))
    outcomes: list[Any] = [None] * len(calls)

    def run(place: int, call: Callable[[], Any]) -> None:
        try:
            start.wait()
            outcomes[place] = call()
        except errors.Refusal as refusal:
            outcomes[place] = refusal
        except BaseException as fault:
            outcomes[place] = fault
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in outcomes:
        if not isinstance(outcome, errors.Refusal) and isinstance(outcome, BaseException):
            raise outcome
    return outcomes


def test_of_two_answers_at_once_one_resolves_and_the_other_is_told(people: PeopleBuilder) -> None:
    for _ in range(ROUNDS):
        decided = people.undecided()
        digest = decided.digest

        outcomes = at_once(
            partial(decided.answer, "yes", ANN, request_digest=digest),
            partial(decided.answer, "no", BOB, request_digest=digest),
        )

        assert sorted(outcome.is_late for outcome in outcomes) == [False, True]
        assert len({outcome.resolution.pk for outcome in outcomes}) == 1
        assert DecisionResolution.objects.filter(decision=decided.decision).count() == 1
        assert decided.made.event_types.count("run.resume_requested") == 1


def test_the_last_votes_of_a_quorum_at_once_make_one_resolution(people: PeopleBuilder) -> None:
    for _ in range(ROUNDS):
        decided = people.undecided(quorum=2)
        digest = decided.digest

        at_once(*(partial(decided.answer, "yes", by, request_digest=digest) for by in (ANN, BOB, CAT)))

        outcomes = DecisionSubmission.objects.filter(decision=decided.decision).values_list("outcome", flat=True)
        assert sorted(outcomes) == ["counted", "counted", "late"]


def test_one_person_on_two_devices_has_one_vote(people: PeopleBuilder) -> None:
    for _ in range(ROUNDS):
        decided = people.undecided(quorum=2)
        digest = decided.digest

        outcomes = at_once(*(partial(decided.answer, "yes", ANN, request_digest=digest) for _ in range(2)))

        assert outcomes[0].submission == outcomes[1].submission
        assert decided.decision.submissions.count() == 1


def test_an_answer_against_an_amendment_counts_for_what_was_shown_or_not_at_all(people: PeopleBuilder) -> None:
    for _ in range(ROUNDS):
        decided = people.asked()
        digest = decided.digest

        answered, amended = at_once(
            partial(decided.answer, "yes", ANN, request_digest=digest),
            partial(decided.amend, title="Delete thirty files?"),
        )

        if isinstance(answered, errors.DecisionOutdated):
            assert amended.request_revision == 2
        else:
            assert isinstance(amended, errors.DecisionResolved)
            assert bytes(decided.decision.resolution.request_digest).hex() == digest


def test_an_answer_against_a_cancel_is_counted_or_told_that_it_is_late(people: PeopleBuilder) -> None:
    for _ in range(ROUNDS):
        decided = people.undecided()
        digest = decided.digest

        answered, _ = at_once(
            partial(decided.answer, "yes", ANN, request_digest=digest),
            partial(transitions.cancel, decided.project, decided.made.run_id, OPERATOR),
        )

        outcome = decided.decision.resolution.outcome
        assert outcome == ("cancelled" if answered.is_late else "accepted")
        assert decided.made.axes == ("cancelled", "cancelled")


def test_two_submissions_at_once_are_validated_one_after_the_other(people: PeopleBuilder) -> None:
    for _ in range(ROUNDS):
        asked = people.waiting()

        outcomes = at_once(partial(asked.submit, "s1"), partial(asked.submit, "s2"))

        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["SubmissionValidating", "bool"]


def test_no_answer_is_taken_and_then_lost(people: PeopleBuilder) -> None:
    """CTRL-7: what was taken before the cancel has a receipt after it."""
    for _ in range(ROUNDS):
        asked = people.waiting()

        taken, _ = at_once(asked.submit, partial(transitions.cancel, asked.project, asked.made.run_id, OPERATOR))

        submissions = list(InteractiveSubmission.objects.filter(request=asked.request))
        if taken is True:
            assert [(each.outcome, each.receipt is None) for each in submissions] == [("rejected", False)]
        else:
            assert (type(taken), submissions) == (errors.RunCancelled, [])


def test_a_cancel_against_every_step_of_a_change_leaves_nothing_open(people: PeopleBuilder) -> None:
    """CTRL-8: attempt, request, decision and message, each against a cancel."""
    steps: list[Callable[[Made], Any]] = [
        lambda m: transitions.complete_attempt(m.project, m.hold, "a1"),
        lambda m: transitions.raise_request(m.project, m.hold, RequestAsk("q1", "a1", "session")),
        lambda m: transitions.queue_message(m.project, m.hold, MessageDraft("m1", "session")),
        people.asked,
    ]
    for step in steps * 5:
        made = people.make.running()
        people.make.attempt(made, attempt_id="a1")

        at_once(partial(step, made), partial(transitions.cancel, made.project, made.run_id, OPERATOR))

        run = made.run
        assert (made.axes, run.lease.owner_id, run.lease.open_work) == (("cancelled", "cancelled"), None, 0)
        assert not run.requests.filter(status="pending").exists()
        assert not run.decisions.filter(resolution=None).exists()
        assert not run.messages.filter(status="pending").exists()
        assert not run.attempts.filter(intervals__ended_at=None, intervals__isnull=False).exists()
        assert people.make.queued(origin_session_id=run.origin_session_id).axes == ("queued", "queued")


def test_the_order_of_a_session_has_no_holes_whoever_writes_to_it(people: PeopleBuilder) -> None:
    held = [people.make.running() for _ in range(6)]
    for number in range(5):
        at_once(
            *(
                partial(transitions.queue_message, made.project, made.hold, MessageDraft(f"m{number}", "session"))
                for made in held
            )
        )

    orders = WorkflowMessage.objects.filter(target_session_id="session").values_list("order", flat=True)
    assert sorted(orders) == list(range(1, 31))
