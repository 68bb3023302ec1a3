"""Decisions of people: what may be asked, what is shown, and what a change of it means."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from runs import canonical, errors, rules_decisions, transitions
from tests.builders import LEASE_MS, FrozenClock, RunBuilder, snapshot_of_everything
from tests.queue.people_cast import ANN, BOB, NO, SESSION, YES, PeopleBuilder, ask, within


@pytest.fixture
def people(make: RunBuilder) -> PeopleBuilder:
    return PeopleBuilder(make)


def test_asking_lets_the_run_wait_for_what_is_shown(people: PeopleBuilder, clock: FrozenClock) -> None:
    made = people.make.running()
    people.make.attempt(made, attempt_id="a1")
    question = ask(
        subject="Three files of /srv",
        presentation={"files": ["a", "b", "c"]},
        groups=["operators"],
        deadline_at=within(clock, 60),
        default_response={"choice": "no"},
        attempt_id="a1",
    )

    decision, is_new = transitions.ask_decision(made.project, made.hold, question)

    shown = canonical.loads(bytes(decision.request.content))
    assert shown == {
        "run_id": made.run_id,
        "decision_id": "d1",
        "revision": 1,
        "title": "Delete files?",
        "subject": "Three files of /srv",
        "presentation": {"files": ["a", "b", "c"]},
        "audience": {"users": [], "groups": ["operators"]},
        "choices": [{**YES, "editable": False}, {**NO, "editable": False}],
        "quorum": 1,
        "forbid_requester": False,
        "requested_by": None,
        "deadline_at": "2026-12-01T03:01:00.000Z",
        "default_response": {"choice": "no", "input": None},
    }
    assert bytes(decision.request_digest) == hashlib.sha256(canonical.dumps(shown)).digest()
    run, (attempt,) = made.run, made.attempts
    assert (is_new, run.status, run.status_detail, attempt.status) == (
        True,
        "waiting",
        "waiting for a decision",
        "waiting",
    )
    assert (run.lease.pending_requests, run.lease.open_work) == (0, 1)
    event = made.events[-1]
    assert (event.type, event.kind, event.key, event.revision) == ("decision.asked", "decision", "d1", 1)
    # The run itself has moved no further than to its attempt.
    assert (run.revision, made.lease.progressed) == (4, True)


def test_a_parked_run_that_waits_for_people_is_handed_to_nobody(people: PeopleBuilder) -> None:
    decided = people.undecided()

    assert people.next_holder(decided.made) is None
    assert decided.made.lease.ready_at is None


def test_a_run_does_not_complete_over_an_undecided_decision(people: PeopleBuilder) -> None:
    decided = people.asked()

    with pytest.raises(errors.OpenWork):
        transitions.complete(decided.project, transitions.Completion(decided.made.run_id, decided.made.token))


def test_a_repeated_step_gets_its_decision_back_with_its_resolution(people: PeopleBuilder) -> None:
    decided = people.asked()
    decided.answer("yes")
    transitions.mark_running(decided.project, decided.made.hold)
    before = snapshot_of_everything()

    decision, is_new = transitions.ask_decision(decided.project, decided.made.hold, ask())

    assert (is_new, decision.resolution.outcome) == (False, "accepted")
    with pytest.raises(errors.DecisionConflict):
        transitions.ask_decision(decided.project, decided.made.hold, ask(title="Delete thirty files?"))
    assert snapshot_of_everything() == before


def test_a_runner_that_comes_back_to_an_undecided_decision_waits_again(
    people: PeopleBuilder, clock: FrozenClock
) -> None:
    decided = people.asked(deadline_at=within(clock, 600))
    clock.advance(LEASE_MS)
    made = people.make.claimed(decided.made, "host-b")
    transitions.mark_running(made.project, made.hold)

    # With a deadline of its own clock, which does not count any more.
    decision, is_new = transitions.ask_decision(made.project, made.hold, ask(deadline_at=within(clock, 600)))

    assert (is_new, decision.request_revision, made.run.status) == (False, 1, "waiting")
    assert decided.events == ["decision.asked", "decision.asked"]
    transitions.park(made.project, made.hold)
    assert people.next_holder(made) is None


def test_a_runner_that_comes_back_after_the_deadline_gets_the_policys_resolution(
    people: PeopleBuilder, clock: FrozenClock
) -> None:
    decided = people.asked(deadline_at=within(clock, 30), default_response={"choice": "no"})
    clock.advance(LEASE_MS)
    made = people.make.claimed(decided.made, "host-b")
    transitions.mark_running(made.project, made.hold)

    # The question as it was asked before, with the deadline that has passed.
    question = ask(deadline_at=clock.at, default_response={"choice": "no"})
    decision, _ = transitions.ask_decision(made.project, made.hold, question)

    assert (decision.resolution.provenance, made.run.status) == ("policy", "running")


def test_an_amended_decision_is_another_one(people: PeopleBuilder) -> None:
    """HUMAN-3: approved is what was shown, not what it became."""
    decided = people.asked(quorum=2)
    seen = decided.digest
    decided.answer("yes", ANN)

    decided.amend(title="Delete thirty files?", quorum=2)

    decision = decided.decision
    assert (decision.request_revision, decision.title, decided.digest != seen) == (2, "Delete thirty files?", True)
    assert [(each.username, each.outcome) for each in decision.submissions.all()] == [("ann", "void")]
    with pytest.raises(errors.DecisionOutdated) as refused:
        decided.answer("yes", BOB, request_digest=seen)
    assert refused.value.facts == {
        "decision_id": "d1", "revision": 2, "request_digest": "sha256:" + decided.digest
    }  # fmt: skip
    with pytest.raises(errors.DecisionOutdated):
        decided.answer("yes", BOB, request_digest="0" * 64)
    decided.answer("yes", ANN)
    resolution = decided.answer("yes", BOB).resolution
    assert resolution is not None
    assert bytes(resolution.request_digest).hex() == decided.digest
    assert [each.request_revision for each in decision.submissions.all()] == [1, 2, 2]


def test_amending_with_the_same_content_changes_nothing(people: PeopleBuilder) -> None:
    decided = people.asked()
    decided.amend(title="Delete thirty files?")
    before = snapshot_of_everything()

    decided.amend(title="Delete thirty files?")

    assert snapshot_of_everything() == before


def test_back_to_the_former_content_is_still_another_digest(people: PeopleBuilder) -> None:
    decided = people.asked()
    first = decided.digest
    decided.amend(title="Delete thirty files?")

    decided.amend()

    assert decided.digest != first


def test_what_is_over_is_not_amended(people: PeopleBuilder, clock: FrozenClock) -> None:
    decided = people.asked()
    decided.answer("yes")
    late = people.asked(decision_id="d2", deadline_at=within(clock, 10))
    clock.advance(10_000)
    before = snapshot_of_everything()

    with pytest.raises(errors.DecisionResolved):
        decided.amend(title="Delete thirty files?")
    with pytest.raises(errors.DecisionExpired):
        late.amend(title="Delete thirty files?")

    assert snapshot_of_everything() == before


def test_the_end_of_a_run_cancels_its_decisions(people: PeopleBuilder) -> None:
    decided = people.undecided()

    transitions.cancel(decided.project, decided.made.run_id, SESSION)

    decision = decided.decision
    assert (decision.resolution.outcome, decision.resolution.provenance) == ("cancelled", "explicit_cancel")
    assert decision.resolved_at == decision.resolution.resolved_at


TEXT = {"type": "string", "maxLength": 5}
FAULTY: dict[str, dict[str, Any]] = {
    "no choices": {"choices": []},
    "two choices of an id": {"choices": [YES, YES]},
    "a choice without a label": {"choices": [{"id": "yes"}]},
    "a choice with more": {"choices": [{**YES, "colour": "red"}]},
    "a choice's id that is none": {"choices": [{"id": 1, "label": "one"}]},
    "no title": {"title": ""},
    "a title too long": {"title": "x" * 501},
    "a quorum of nobody": {"quorum": 0},
    "a quorum larger than the audience": {"users": ["ann"], "quorum": 2},
    "a requester who is not named": {"forbid_requester": True},
    "a deadline that has passed": {"deadline_at": "now"},
    "a default without a deadline": {"default_response": {"choice": "no"}},
    "a default that is no choice": {"default_response": {"choice": "maybe"}, "deadline_at": "later"},
    "a default with an input too many": {"default_response": {"choice": "no", "input": 1}, "deadline_at": "later"},
    "a proposal of what is not editable": {"choices": [{**YES, "proposed_input": "x"}]},
    "a proposal against its schema": {
        "choices": [{**YES, "editable": True, "input_schema": TEXT, "proposed_input": "far too long"}]
    },
    "a schema that is none": {"choices": [{**YES, "input_schema": {"type": "text"}}]},
    "a schema that fetches": {"choices": [{**YES, "input_schema": {"$ref": "https://example.org/schema"}}]},
    "a presentation that can't be stored": {"presentation": "\0"},
}


@pytest.mark.parametrize("case", FAULTY)
def test_what_cant_be_decided_is_not_asked(people: PeopleBuilder, clock: FrozenClock, case: str) -> None:
    made = people.make.running()
    before = snapshot_of_everything()
    times = {"now": clock.at, "later": within(clock, 60)}
    changes = {
        name: times.get(value, value) if name == "deadline_at" else value for name, value in FAULTY[case].items()
    }

    with pytest.raises(errors.Invalid):
        transitions.ask_decision(made.project, made.hold, ask(**changes))

    assert snapshot_of_everything() == before


def test_a_run_asks_so_many_decisions_and_no_more(people: PeopleBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_decisions, "DECISION_LIMIT", 1)
    decided = people.asked()
    decided.answer("yes")
    transitions.mark_running(decided.project, decided.made.hold)

    with pytest.raises(errors.TooMany):
        people.asked(decided.made, "d2")


def test_a_question_is_the_same_whatever_the_order_of_its_people() -> None:
    one, other = ask(users=["ann", "bob"]), replace(ask(users=["bob", "ann"]), choices=[dict(YES), NO])

    assert rules_decisions.asks_the_same(rules_decisions.shown(one, "r", 1), rules_decisions.shown(other, "r", 7))
