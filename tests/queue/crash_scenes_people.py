"""Scenes of what a run asks of sessions and people: requests, submissions, decisions, messages, turns."""

from functools import partial

from runs import transitions
from runs.states import StopReason
from runs.transitions import AttemptStart, Claimant, Hold, MessageDraft, Observation, RequestAsk
from tests.builders import LEASE_MS, FrozenClock, Made, RunBuilder
from tests.queue.crash_machine import Act, Scene
from tests.queue.people_cast import SESSION, Asked, PeopleBuilder, ask, within


def _raise_request(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    make.attempt(made, "node", "a1")
    return lambda: transitions.raise_request(make.project, made.hold, RequestAsk("q1", "a1", SESSION.id or ""))


def _withdraw_request(make: RunBuilder, clock: FrozenClock) -> Act:
    asked = PeopleBuilder(make).validated()
    return lambda: transitions.withdraw_request(make.project, asked.made.hold, "q1")


def _submit(make: RunBuilder, clock: FrozenClock) -> Act:
    return PeopleBuilder(make).waiting().submit


def _accept(make: RunBuilder, clock: FrozenClock) -> Act:
    return PeopleBuilder(make).validated().accept


def _reject(make: RunBuilder, clock: FrozenClock) -> Act:
    made = PeopleBuilder(make).validated().made
    return lambda: transitions.reject_submission(make.project, made.hold, "q1", "s1", "That is no date.")


def _interaction_timeout(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    transitions.start_attempt(make.project, made.hold, AttemptStart("a1", "node", timeout_ms=1))
    transitions.progress_attempt(make.project, made.hold, Observation("a1", active_ms=1))
    asked = Asked(made)
    transitions.raise_request(make.project, made.hold, RequestAsk("q1", "a1", SESSION.id or ""))
    asked.submit()
    transitions.park(make.project, made.hold)
    transitions.claim_for_control(make.project, made.run_id, Claimant("controller", LEASE_MS), "control")
    hold = Hold(made.run_id, "control")
    return lambda: transitions.begin_interaction_timeout(make.project, hold, SESSION.id or "")


def _ask(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    make.attempt(made, "node", "a1")
    return lambda: transitions.ask_decision(make.project, made.hold, ask(attempt_id="a1"))


def _amend(make: RunBuilder, clock: FrozenClock) -> Act:
    decided = PeopleBuilder(make).asked(quorum=2)
    decided.answer()
    return partial(decided.amend, title="Delete all files?")


def _answer(make: RunBuilder, clock: FrozenClock) -> Act:
    return PeopleBuilder(make).undecided().answer


def _answer_late(make: RunBuilder, clock: FrozenClock) -> Act:
    decided = PeopleBuilder(make).undecided(deadline_at=within(clock, 1))
    clock.advance(1_000)
    return decided.answer


def _expire(make: RunBuilder, clock: FrozenClock) -> Act:
    decided = PeopleBuilder(make).undecided(deadline_at=within(clock, 1))
    clock.advance(1_000)
    return lambda: transitions.expire_decision(make.project, decided.made.run_id, "d1")


def _expire_overdue(make: RunBuilder, clock: FrozenClock) -> Act:
    for _ in range(2):
        PeopleBuilder(make).undecided(deadline_at=within(clock, 1))
    clock.advance(1_000)
    return transitions.expire_decisions


def _with_message(make: RunBuilder) -> Made:
    made = make.running()
    transitions.queue_message(make.project, made.hold, MessageDraft("m1", "session"))
    return made


def _queue_message(make: RunBuilder, clock: FrozenClock) -> Act:
    made = make.running()
    return lambda: transitions.queue_message(make.project, made.hold, MessageDraft("m1", "session"))


def _send_message(make: RunBuilder, clock: FrozenClock) -> Act:
    made = _with_message(make)
    return lambda: transitions.send_message(make.project, made.run_id, "m1", SESSION, {"id": 7})


def _open_turn(make: RunBuilder, clock: FrozenClock) -> Act:
    made = _with_message(make)
    transitions.send_message(make.project, made.run_id, "m1", SESSION)
    return lambda: transitions.open_turn(make.project, made.run_id, "m1", "t1", SESSION)


def _end_turn(make: RunBuilder, clock: FrozenClock) -> Act:
    made = _with_message(make)
    transitions.send_message(make.project, made.run_id, "m1", SESSION)
    transitions.open_turn(make.project, made.run_id, "m1", "t1", SESSION)
    return lambda: transitions.end_turn(make.project, made.run_id, "t1", StopReason.COMPLETED, SESSION)


SCENES: dict[str, Scene] = {
    "raise_request": _raise_request,
    "withdraw_request": _withdraw_request,
    "submit": _submit,
    "accept_submission": _accept,
    "reject_submission": _reject,
    "begin_interaction_timeout": _interaction_timeout,
    "ask_decision": _ask,
    "amend_decision": _amend,
    "answer_decision": _answer,
    "answer_decision: too late": _answer_late,
    "expire_decision": _expire,
    "expire_decisions": _expire_overdue,
    "queue_message": _queue_message,
    "send_message": _send_message,
    "open_turn": _open_turn,
    "end_turn": _end_turn,
}
