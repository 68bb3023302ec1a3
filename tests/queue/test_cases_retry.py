"""Cases of crash loops, backoff and fairness, told as a whole: RETRY-1 and RETRY-2."""

from collections.abc import Callable

import pytest

from runs import errors, transitions
from runs.models import Project
from runs.rules_crashes import CRASH_LIMIT
from runs.states import ErrorCode, RunStatus
from runs.transitions import AttemptStart, Claimant, Completion, Hold, Note
from tests.builders import OPERATOR, FrozenClock, Made, RunBuilder
from tests.queue.losing import RUNNER, crashes, free_at, lost, taken

swept_or_not = pytest.mark.parametrize("sweep", [transitions.sweep, lambda: None], ids=["swept", "not swept"])
LEASE_MS = 10_000


@swept_or_not
def test_a_run_that_kills_its_runners_ends_parked_while_the_others_finish(
    project: Project, make: RunBuilder, clock: FrozenClock, sweep: Callable[[], object]
) -> None:
    """RETRY-1: one that kills, twenty harmless ones behind it, and runners that are started again and again."""
    killer = make.queued()
    harmless = [make.queued() for _ in range(20)]
    deaths = 0
    for number in range(200):
        owner, token = f"host-{number}", f"the token of runner {number}"
        for run in transitions.claim_next(project, Claimant(owner, LEASE_MS), [token]):
            if run.run_id == killer.run_id:
                deaths += 1
                # Dead without a word: a runner that is started in its place goes on meanwhile.
                break
            transitions.mark_running(project, Hold(run.run_id, token))
            transitions.complete(project, Completion(run.run_id, token))
        clock.advance(LEASE_MS)
        sweep()

    assert deaths == CRASH_LIMIT
    assert {made.axes for made in harmless} == {("completed", "done")}
    assert (killer.axes, killer.run.error_code) == (("queued", "parked"), ErrorCode.RUNNER_NO_PROGRESS)
    assert "lost 5 times in a row" in (killer.run.status_detail or "")
    assert taken(killer) == []


def test_an_operator_lets_the_run_try_again_and_progress_starts_the_count_anew(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    """RETRY-1, its end."""
    killer = lost(make, make.queued(), clock, times=CRASH_LIMIT)
    assert taken(killer) == []
    transitions.run_now(project, killer.run_id, OPERATOR)
    killer = lost(make, killer, clock, times=CRASH_LIMIT - 1)
    clock.set(free_at(killer, clock))

    mended = make.claimed(killer)
    transitions.mark_running(project, mended.hold)
    transitions.start_attempt(project, mended.hold, AttemptStart("a", "node"))
    transitions.complete_attempt(project, mended.hold, "a")

    assert (crashes(mended), mended.run.status) == (0, RunStatus.RUNNING)


def nothing(made: Made) -> None:
    """Only the time goes by."""


def pause_and_unpause(made: Made) -> None:
    transitions.pause(made.project, made.run_id, OPERATOR)
    transitions.unpause(made.project, made.run_id, OPERATOR)


def sweep(made: Made) -> None:
    transitions.sweep()


def note(made: Made) -> None:
    transitions.record_event(made.project, Note(made.run_id, "label", {"text": "urgent"}), OPERATOR)


def ask_to_resume(made: Made) -> None:
    transitions.request_resume(made.project, made.run_id)


def hold_for_control(made: Made) -> None:
    token = "a token for control"
    transitions.claim_for_control(made.project, made.run_id, Claimant("controller", 1_000), token)
    transitions.park(made.project, Hold(made.run_id, token))


@pytest.mark.parametrize(
    "meddle", [nothing, pause_and_unpause, sweep, note, ask_to_resume, hold_for_control], ids=lambda each: each.__name__
)
def test_a_resting_run_is_not_handed_out_before_its_time_on_any_path(
    make: RunBuilder, clock: FrozenClock, meddle: Callable[[Made], None]
) -> None:
    """RETRY-2."""
    made = lost(make, make.queued(), clock, times=4)
    until = free_at(made, clock)

    meddle(made)

    assert taken(made) == []
    with pytest.raises(errors.BackingOff):
        make.claimed(made)
    clock.set(until)
    assert (taken(made), crashes(made)) == ([made.run_id], 4)


def test_only_run_now_hands_it_out_earlier_and_leaves_a_trace(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    """RETRY-2, its end."""
    made = lost(make, make.queued(), clock, times=3)

    transitions.run_now(project, made.run_id, OPERATOR)

    event = made.events[-1]
    assert (event.type, event.actor_type, event.actor_id) == ("run.resume_requested", "human", "operator")
    assert taken(made) == [made.run_id]


def test_the_delay_grows_with_crashes_and_goes_back_after_success(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    """RETRY-2, the delay."""
    made, delays = make.queued(), []
    for _ in range(CRASH_LIMIT - 1):
        made = lost(make, made, clock)
        delays.append((free_at(made, clock) - clock.at).total_seconds())
    clock.set(free_at(made, clock))
    made = make.claimed(made)
    transitions.mark_running(project, made.hold)
    transitions.start_attempt(project, made.hold, AttemptStart("a", "node"))
    transitions.complete_attempt(project, made.hold, "a")
    clock.advance(RUNNER.lease_ms)

    assert delays[0] == 0 < delays[1] < delays[2] < delays[3]
    assert taken(made) == [made.run_id]
