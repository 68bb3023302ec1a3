"""A transition that is cut off leaves the state before it, wherever it is cut off; repeated, it succeeds."""

from collections.abc import Callable
from inspect import isfunction

import pytest
from django.db import OperationalError

from runs import transitions
from runs.models import AccessToken, Event, Project, Receipt, Run
from runs.states import TERMINAL_EVENTS, Scope
from runs.transitions import Answer, Claimant, Completion
from tests.builders import HOST, LEASE_MS, OPERATOR, FrozenClock, RunBuilder, snapshot_of_everything
from tests.queue import crash_scenes_control, crash_scenes_effects, crash_scenes_people, crash_scenes_runs
from tests.queue.crash_machine import Act, a_commit_that_fails, crashes_before
from tests.queue.people_cast import PeopleBuilder, within
from tests.soundness import assert_sound

pytestmark = pytest.mark.django_db(transaction=True)

SCENES = {
    **crash_scenes_runs.SCENES,
    **crash_scenes_effects.SCENES,
    **crash_scenes_people.SCENES,
    **crash_scenes_control.SCENES,
}
# Of these the batch is what is cut off, since the single verb is a batch of one; or the other way round.
COVERED_BY = {
    # Some transactions, each of them whole: see below.
    "sweep": "claim_next",
    # One statement, without a transaction.
    "stamp_use": "renew",
    "answered_once": "command_with_receipt",
    "cancel_all": "cancel",
    "complete_all": "complete",
    "fail_all": "fail",
    "mark_running_all": "mark_running",
    "park_all": "park",
    "pause_all": "pause",
    "renew_all": "renew",
    "reserve_all": "reserve",
    "reserve_effect": "reserve_effects",
    "reserve_or_adopt": "reserve",
    "unpause_all": "unpause",
}


def test_every_verb_is_cut_off() -> None:
    verbs = {name for name in transitions.__all__ if isfunction(getattr(transitions, name))}
    cut_off = {name.partition(":")[0] for name in SCENES}

    assert verbs - cut_off - COVERED_BY.keys() == set()
    assert set(COVERED_BY.values()) <= cut_off


@pytest.fixture(params=SCENES)
def act(request: pytest.FixtureRequest, make: RunBuilder, clock: FrozenClock) -> Act:
    """A transition that is about to be made, on a state that allows it."""
    act = SCENES[request.param](make, clock)
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


def test_a_sweep_that_is_cut_off_leaves_runs_swept_or_not(make: RunBuilder, clock: FrozenClock) -> None:
    runs = [make.running() for _ in range(3)]
    decided = PeopleBuilder(make).undecided(deadline_at=within(clock, 1))
    clock.advance(LEASE_MS)

    number = 0
    while crashes_before(number, transitions.sweep):
        number += 1
        released = {made.lease.owner_id is None for made in runs}
        assert len(released) == 1, f"after a crash before statement {number}"
        assert_sound()

    assert number > 5
    assert decided.decision.resolved_at is not None


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
