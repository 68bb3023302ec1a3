"""Every verb about sessions and people, on a run in every state: allowed where the table says, or nothing changes."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from runs import errors, transitions
from runs.models import HumanDecision, Project
from runs.states import QueueStatus, RunStatus, StopReason
from runs.transitions import MessageDraft, RequestAsk, Submission
from runs.verbs import (
    AMEND_DECISION,
    ANSWER_DECISION,
    ASK_DECISION,
    QUEUE_MESSAGE,
    RAISE_REQUEST,
    SETTLE_SUBMISSION,
    SUBMIT,
    VERBS,
    WITHDRAW_REQUEST,
    WRITE_TURN,
    Verb,
)
from tests import by_hand
from tests.builders import FrozenClock, Made, RunBuilder, snapshot_of_everything, write
from tests.queue.people_cast import ANN, SESSION, PeopleBuilder, ask

Prepare = Callable[[PeopleBuilder], Made]
Call = Callable[[Made], Any]


def with_request(people: PeopleBuilder) -> Made:
    asked = people.raised()
    asked.submit()
    return asked.made


def with_attempt(people: PeopleBuilder) -> Made:
    made = people.make.running()
    people.make.attempt(made, attempt_id="a1")
    return made


def with_pending(people: PeopleBuilder) -> Made:
    return people.raised().made


def with_decision(people: PeopleBuilder) -> Made:
    return people.asked().made


def with_message(people: PeopleBuilder) -> Made:
    made = people.make.running()
    transitions.queue_message(made.project, made.hold, MessageDraft("m1", "session"))
    transitions.send_message(made.project, made.run_id, "m1", SESSION)
    return made


CALLS: dict[str, tuple[Verb, Prepare, Call]] = {
    "raise request": (
        RAISE_REQUEST,
        with_attempt,
        lambda on: transitions.raise_request(on.project, on.hold, RequestAsk("q1", "a1", "session")),
    ),
    "submit": (
        SUBMIT,
        with_pending,
        lambda on: transitions.submit(on.project, on.run_id, Submission("q1", "s1", 1), SESSION),
    ),
    "accept": (
        SETTLE_SUBMISSION,
        with_request,
        lambda on: transitions.accept_submission(on.project, on.hold, "q1", "s1"),
    ),
    "reject": (
        SETTLE_SUBMISSION,
        with_request,
        lambda on: transitions.reject_submission(on.project, on.hold, "q1", "s1", "No."),
    ),
    "withdraw": (
        WITHDRAW_REQUEST,
        with_pending,
        lambda on: transitions.withdraw_request(on.project, on.hold, "q1"),
    ),
    "ask": (ASK_DECISION, with_attempt, lambda on: transitions.ask_decision(on.project, on.hold, ask())),
    "amend": (
        AMEND_DECISION,
        with_decision,
        lambda on: transitions.amend_decision(on.project, on.hold, ask(title="Delete thirty files?")),
    ),
    "queue message": (
        QUEUE_MESSAGE,
        with_attempt,
        lambda on: transitions.queue_message(on.project, on.hold, MessageDraft("m1", "session")),
    ),
    "open turn": (
        WRITE_TURN,
        with_message,
        lambda on: transitions.open_turn(on.project, on.run_id, "m1", "t1", SESSION),
    ),
}
PEOPLE_VERBS = {
    RAISE_REQUEST,
    SUBMIT,
    SETTLE_SUBMISSION,
    WITHDRAW_REQUEST,
    ASK_DECISION,
    AMEND_DECISION,
    ANSWER_DECISION,
    QUEUE_MESSAGE,
    WRITE_TURN,
}
# What a held run can be: its own status, the queue's, and paused or not.
STATES = [
    (status, queue, paused)
    for status in (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING)
    for queue in (QueueStatus.QUEUED, QueueStatus.STARTING, QueueStatus.RUNNING, QueueStatus.PARKED)
    for paused in (False, True)
]


@pytest.fixture
def people(make: RunBuilder) -> PeopleBuilder:
    return PeopleBuilder(make)


def test_the_matrix_holds_every_verb_about_sessions_and_people() -> None:
    assert {verb for verb, _, _ in CALLS.values()} | {ANSWER_DECISION} == PEOPLE_VERBS <= set(VERBS.values())


@pytest.mark.parametrize("name", CALLS)
def test_every_verb_in_every_state(people: PeopleBuilder, name: str) -> None:
    verb, prepare, call = CALLS[name]
    made = prepare(people)

    for status, queue, paused in STATES:
        with transaction.atomic():
            write(made, status=status, queue_status=queue, paused=paused)
            if is_allowed(verb, made):
                assert_carried_out(verb, made, call)
            else:
                assert_refused(made, call)
            by_hand.assert_told()
            transaction.set_rollback(True)
    by_hand.forget()


def is_allowed(verb: Verb, made: Made) -> bool:
    run = made.run
    return (
        run.status in verb.run
        and run.queue_status in verb.queue
        and verb.paused in (None, run.paused)
        and verb.asked in (None, bool(run.lease.pending_requests))
    )


def assert_carried_out(verb: Verb, made: Made, call: Call) -> None:
    before = made.run.head_digest

    call(made)

    run = made.run
    assert run.head_digest != before
    assert verb.ends_run in (None, run.status), run.status


def assert_refused(made: Made, call: Call) -> None:
    before = snapshot_of_everything()

    with pytest.raises(errors.Conflict):
        call(made)

    assert snapshot_of_everything() == before


@pytest.mark.parametrize("end", ["completed", "failed", "timed_out", "cancelled"])
def test_a_run_that_is_over_takes_none_of_them(people: PeopleBuilder, end: str) -> None:
    made = getattr(people.make, end)()
    before = snapshot_of_everything()

    for _, _, call in CALLS.values():
        with pytest.raises(errors.Refusal):
            call(made)

    assert snapshot_of_everything() == before


@pytest.mark.parametrize("name", [name for name, (verb, _, _) in CALLS.items() if verb.lease.name == "HELD"])
def test_whoever_lost_the_run_is_told_so(people: PeopleBuilder, clock: FrozenClock, name: str) -> None:
    _, prepare, call = CALLS[name]
    made = prepare(people)
    clock.advance(30_000)
    before = snapshot_of_everything()

    with pytest.raises(errors.LeaseLost) as refused:
        call(made)

    assert refused.value.facts["cause"] == "expired"
    assert snapshot_of_everything() == before


def test_nothing_of_another_project_is_found(people: PeopleBuilder, other_project: Project) -> None:
    made = with_request(people)
    before = snapshot_of_everything()
    elsewhere = Made(other_project, made.run_id, made.token)

    for _, _, call in CALLS.values():
        with pytest.raises(errors.RunNotFound):
            call(elsewhere)
    for reach in (
        lambda: transitions.send_message(other_project, made.run_id, "m1", SESSION),
        lambda: transitions.end_turn(other_project, made.run_id, "t1", StopReason.COMPLETED, SESSION),
        lambda: transitions.expire_decision(other_project, made.run_id, "d1"),
        lambda: transitions.answer_decision(
            other_project, made.run_id, "d1", transitions.DecisionAnswer("yes", "0" * 64), ANN
        ),
    ):
        with pytest.raises(errors.RunNotFound):
            reach()

    assert snapshot_of_everything() == before


def test_an_undecided_decision_of_a_run_that_is_over_takes_no_answer(people: PeopleBuilder) -> None:
    """No verb leaves one; should there be one, an answer to it changes nothing."""
    decided = people.asked()
    transitions.cancel(decided.project, decided.made.run_id, SESSION)

    with transaction.atomic():
        decided.decision.resolution.delete()
        HumanDecision.objects.update(resolved_at=None)
        before = snapshot_of_everything()

        with pytest.raises(errors.RunCancelled):
            decided.answer("yes")

        assert snapshot_of_everything() == before
        transaction.set_rollback(True)
