"""Deadlines of decisions, carried out by a sweep or by whoever meets them first."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import errors, transitions
from runs.models import DecisionResolution, Project
from tests.builders import FrozenClock, RunBuilder, snapshot_of_everything
from tests.queue.people_cast import PeopleBuilder, within


@pytest.fixture
def people(make: RunBuilder) -> PeopleBuilder:
    return PeopleBuilder(make)


def test_a_sweep_resolves_what_is_overdue_and_hands_the_runs_out(people: PeopleBuilder, clock: FrozenClock) -> None:
    default = people.undecided(deadline_at=within(clock, 60), default_response={"choice": "no"})
    expires = people.undecided(deadline_at=within(clock, 50))
    later, never = people.undecided(deadline_at=within(clock, 90)), people.undecided()
    clock.advance(60_000)

    assert transitions.expire_decisions() == 2

    assert (default.decision.resolution.outcome, expires.decision.resolution.outcome) == ("accepted", "expired")
    assert default.decision.resolution.provenance == expires.decision.resolution.provenance == "policy"
    assert default.made.axes == expires.made.axes == ("waiting", "queued")
    assert DecisionResolution.objects.count() == 2
    assert later.made.axes == never.made.axes == ("waiting", "parked")
    before = snapshot_of_everything()
    assert transitions.expire_decisions() == 0
    assert snapshot_of_everything() == before


def test_a_sweep_has_a_bound_and_takes_the_longest_overdue_first(people: PeopleBuilder, clock: FrozenClock) -> None:
    second, first = people.undecided(deadline_at=within(clock, 20)), people.undecided(deadline_at=within(clock, 10))
    clock.advance(60_000)

    assert transitions.expire_decisions(limit=1) == 1

    assert first.decision.resolved_at is not None
    assert second.decision.resolved_at is None


def test_a_sweep_can_be_of_one_project(people: PeopleBuilder, other_project: Project, clock: FrozenClock) -> None:
    ours = people.undecided(deadline_at=within(clock, 10))
    theirs = PeopleBuilder(RunBuilder(other_project)).undecided(deadline_at=within(clock, 10))
    clock.advance(10_000)

    assert transitions.expire_decisions(other_project) == 1

    assert theirs.decision.resolved_at is not None
    assert ours.decision.resolved_at is None


def test_several_decisions_of_one_run_expire_together(people: PeopleBuilder, clock: FrozenClock) -> None:
    decided = people.asked(deadline_at=within(clock, 10))
    transitions.mark_running(decided.project, decided.made.hold)
    other = people.asked(decided.made, "d2", deadline_at=within(clock, 20))
    transitions.park(other.project, other.made.hold)
    clock.advance(60_000)

    assert transitions.expire_decisions() == 2

    assert decided.made.event_types[-3:] == ["decision.resolved", "decision.resolved", "run.resume_requested"]


def test_a_sweep_costs_as_many_statements_for_many_as_for_few(people: PeopleBuilder, clock: FrozenClock) -> None:
    counts = []
    for size in (2, 12):
        for _ in range(size):
            people.undecided(deadline_at=within(clock, 10), default_response={"choice": "no"})
        clock.advance(10_000)

        with CaptureQueriesContext(connection) as captured:
            assert transitions.expire_decisions() == size

        counts.append(len([query for query in captured if "SAVEPOINT" not in query["sql"]]))

    assert counts[0] == counts[1]


def test_one_decision_can_be_expired_by_its_name(people: PeopleBuilder, clock: FrozenClock) -> None:
    decided, never = people.undecided(deadline_at=within(clock, 10)), people.undecided()
    clock.advance(9_999)
    with pytest.raises(errors.DecisionNotDue) as refused:
        transitions.expire_decision(decided.project, decided.made.run_id, "d1")
    with pytest.raises(errors.DecisionNotDue):
        transitions.expire_decision(never.project, never.made.run_id, "d1")
    clock.advance(1)

    decision = transitions.expire_decision(decided.project, decided.made.run_id, "d1")

    assert (refused.value.facts["retry_in_ms"], decision.resolution.outcome) == (1, "expired")
    with pytest.raises(errors.DecisionResolved):
        transitions.expire_decision(decided.project, decided.made.run_id, "d1")
