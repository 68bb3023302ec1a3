"""Why a run waits: one answer for every unfinished run that nobody works on."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import rules_crashes, transitions
from runs.models import Project, Run, Workflow
from runs.rules_waiting import NOBODY_ASKS_AFTER, Reason, WaitCode
from runs.states import EffectOutcome
from runs.transitions import EffectReservation
from runs.waiting import waiting_reason, waiting_reasons
from tests.builders import HOST, LEASE_MS, OPERATOR, START, FrozenClock, Made, RunBuilder, write
from tests.queue.losing import free_at, lost
from tests.queue.people_cast import SESSION, PeopleBuilder


@pytest.fixture
def asked_for(project: Project) -> Project:
    """The project, with a runner that asks for its workflow."""
    Workflow.objects.create(project=project, name="inventory", asked_for_at=START)
    return project


def reason(made: Made) -> Reason:
    """Why the run waits, which it does."""
    found = waiting_reason(made.run)
    assert found is not None
    return found


def in_doubt(make: RunBuilder) -> Made:
    """Parked for an effect of which nobody knows."""
    made = make.running()
    effect, _ = transitions.reserve_effect(make.project, made.hold, EffectReservation("mail", "1"))
    _, number = transitions.start_effect(make.project, made.hold, effect.effect_id)
    transitions.doubt_effect(make.project, made.hold, effect.effect_id, number or 0, "No answer.")
    transitions.park_ambiguous_effect(make.project, made.hold)
    return made


@pytest.mark.parametrize("state", ["starting", "running"])
def test_a_run_under_a_live_lease_waits_for_nothing(make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()

    assert waiting_reason(made.run) is None


@pytest.mark.parametrize("state", ["completed", "failed", "timed_out", "cancelled"])
def test_a_run_that_is_over_waits_for_nothing(make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()

    assert waiting_reason(made.run) is None


@pytest.mark.parametrize("state", ["queued", "parked"])
def test_a_run_that_a_runner_asks_for_is_offered(asked_for: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()

    assert reason(made).code == WaitCode.OFFERED
    assert reason(made).facts == {"since": made.run.available_at}


def test_a_run_that_is_not_due_waits_until_then(asked_for: Project, make: RunBuilder) -> None:
    made = make.queued()
    write(made, available_at=START + timedelta(seconds=90))

    assert reason(made) == Reason(
        WaitCode.NOT_DUE, "Not due before 2026-12-01 03:01:30 UTC.", {"until": START + timedelta(seconds=90)}
    )


@pytest.mark.parametrize("sweep", [transitions.sweep, lambda: None], ids=["swept", "not swept"])
def test_a_run_rests_after_a_crash(
    asked_for: Project, make: RunBuilder, clock: FrozenClock, sweep: Callable[[], object]
) -> None:
    made = lost(make, make.queued(), clock, times=2)
    until = free_at(made, clock)
    sweep()

    found = reason(made)

    assert (found.code, found.facts) == (WaitCode.BACKING_OFF, {"until": until, "crashes": 2})
    assert found.sentence == f"It rests until {until:%Y-%m-%d %H:%M:%S} UTC after losing 2 runners in a row."


def test_a_paused_run_says_who_paused_it_when_and_why(asked_for: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    transitions.pause(make.project, made.run_id, OPERATOR, "an old reason")
    transitions.unpause(make.project, made.run_id, OPERATOR)
    clock.advance(1_000)
    transitions.pause(make.project, made.run_id, OPERATOR, "wait for the release")
    clock.advance(5_000)

    found = reason(made)

    assert found.code == WaitCode.PAUSED
    assert found.sentence == "Paused by operator since 2026-12-01 03:00:01 UTC: wait for the release"
    assert found.facts == {
        "actor_type": "human",
        "actor_id": "operator",
        "since": START + timedelta(seconds=1),
        "reason": "wait for the release",
    }


def test_a_pause_without_a_reason_still_says_who_and_when(make: RunBuilder) -> None:
    made = make.queued()
    transitions.pause(make.project, made.run_id, OPERATOR)

    assert reason(made).sentence == "Paused by operator since 2026-12-01 03:00:00 UTC."


def test_a_run_with_a_request_waits_for_its_session(make: RunBuilder) -> None:
    asked = PeopleBuilder(make).waiting()

    found = reason(asked.made)

    assert found.code == WaitCode.WAITING_FOR_PERSON
    assert found.facts == {"sessions": [SESSION.id], "decision_ids": []}
    assert SESSION.id is not None
    assert SESSION.id in found.sentence


def test_a_run_with_a_decision_waits_for_people(make: RunBuilder) -> None:
    decided = PeopleBuilder(make).undecided()

    found = reason(decided.made)

    assert found.code == WaitCode.WAITING_FOR_PERSON
    assert found.facts == {"sessions": [], "decision_ids": ["d1"]}
    assert found.sentence == "It waits for people to decide on d1."


def test_a_run_that_waits_for_nothing_that_is_open_says_so(make: RunBuilder) -> None:
    made = make.waiting()

    found = reason(made)

    assert (found.code, found.facts["decision_ids"]) == (WaitCode.WAITING_FOR_PERSON, [])
    assert "nothing that it has asked is open" in found.sentence


def test_a_run_with_an_effect_in_doubt_names_it(make: RunBuilder) -> None:
    made = in_doubt(make)
    (effect,) = made.run.effects.all()

    found = reason(made)

    assert (found.code, found.facts) == (WaitCode.EFFECT_IN_DOUBT, {"effect_ids": [effect.effect_id]})
    transitions.settle_ambiguous_effect(
        make.project, made.run_id, effect.effect_id, EffectOutcome.APPLIED, OPERATOR, "It is there."
    )
    assert reason(made).code == WaitCode.NO_RUNNER_ASKS


@pytest.mark.parametrize("park", [transitions.park_no_progress, transitions.park_source_changed])
def test_a_run_that_is_held_back_says_by_which_code_and_why(make: RunBuilder, park: Callable[..., Run]) -> None:
    made = make.running()
    park(make.project, made.hold, "Nothing moves.")

    found = reason(made)

    assert found.code == WaitCode.HELD_BACK
    assert found.facts == {"error_code": made.run.error_code, "error_detail": "Nothing moves."}
    assert found.sentence.endswith("until an operator asks for it to be run again: Nothing moves.")


def test_a_run_that_lost_its_runner_says_which_and_when(
    asked_for: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.running()
    clock.advance(LEASE_MS)

    found = reason(made)

    assert found.code == WaitCode.LEASE_EXPIRED
    assert found.facts == {"owner_id": HOST, "expired_at": clock.at, "takeover_at": clock.at}


@pytest.mark.parametrize("wish", [transitions.request_pause, transitions.request_cancel])
def test_a_run_whose_wish_is_due_waits_for_that(
    project: Project, make: RunBuilder, clock: FrozenClock, wish: Callable[..., Run]
) -> None:
    made = make.running()
    wish(project, made.run_id, 1_000, OPERATOR)
    clock.advance(999)
    before = waiting_reason(made.run)
    clock.advance(1)

    assert (before, reason(made).code) == (None, WaitCode.WISH_DUE)


def test_a_workflow_that_nobody_ever_asked_for_is_named(make: RunBuilder) -> None:
    made = make.queued(workflow_name="forgotten")

    assert reason(made) == Reason(
        WaitCode.NO_RUNNER_ASKS,
        "No runner has asked for runs of forgotten yet.",
        {"workflow_name": "forgotten", "asked_for_at": None},
    )


def test_a_workflow_that_nobody_asks_for_any_more_says_since_when(
    asked_for: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.queued()
    clock.set(START + NOBODY_ASKS_AFTER - timedelta(milliseconds=1))
    before = reason(made).code
    clock.advance(1)

    found = reason(made)

    assert (before, found.code) == (WaitCode.OFFERED, WaitCode.NO_RUNNER_ASKS)
    assert found.sentence == "No runner has asked for runs of inventory since 2026-12-01 03:00:00 UTC."


def test_demand_is_noted_every_ten_seconds(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    make.queued()
    transitions.note_demand(project, ["inventory", "unknown"])
    clock.advance(9_999)
    with CaptureQueriesContext(connection) as captured:
        transitions.note_demand(project, ["inventory"])
    stamped = Workflow.objects.get().asked_for_at
    clock.advance(1)
    transitions.note_demand(project, ["inventory"])

    assert stamped == START
    assert Workflow.objects.get().asked_for_at == clock.at
    assert len(captured) == 1


def test_demand_is_noted_for_the_named_workflows_of_one_project(
    project: Project, other_project: Project, make: RunBuilder
) -> None:
    make.queued()
    make.queued(workflow_name="other")
    RunBuilder(other_project).queued()

    transitions.note_demand(project, ["inventory"])

    stamped = Workflow.objects.filter(asked_for_at__isnull=False)
    assert [(workflow.project, workflow.name) for workflow in stamped] == [(project, "inventory")]


def test_a_list_costs_as_many_statements_as_one_run(make: RunBuilder, clock: FrozenClock) -> None:
    people = PeopleBuilder(make)
    counts, told = [], []
    for _ in range(2):
        make.queued()
        make.running()
        in_doubt(make)
        people.waiting()
        people.undecided()
        transitions.pause(make.project, make.queued().run_id, OPERATOR)
        transitions.park_no_progress(make.project, (held := make.running()).hold, held.run_id)
        runs = list(Run.objects.with_identity())
        with CaptureQueriesContext(connection) as captured:
            reasons = waiting_reasons(runs)
        counts.append(len(captured))
        told.append(sorted(each.code for each in reasons.values()))

    assert counts[0] == counts[1] <= 6
    assert told[1] == sorted(2 * told[0])
    assert len(told[0]) == 6


def test_the_rest_is_told_as_it_will_be_counted(make: RunBuilder, clock: FrozenClock) -> None:
    made = lost(make, make.queued(), clock, times=3)
    before = reason(made).facts

    transitions.sweep()

    assert before == reason(made).facts
    assert before["crashes"] == made.run.consecutive_errors == 3
    assert rules_crashes.rests_until(made.lease, clock.at) == before["until"]
