"""The sweep: it writes down what time has brought about, and nothing is judged otherwise for it."""

import os
import signal
from collections.abc import Callable
from datetime import timedelta
from itertools import count

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from runs import canonical, errors, rules_crashes, transitions
from runs.models import AccessToken, DecisionResolution, Lease, Project, Receipt
from runs.rules_crashes import CRASH_LIMIT
from runs.states import ErrorCode, Scope
from runs.transitions import Answer, Claimant, Completion, Failure, Hold, Note, Swept
from tests.builders import (
    HOST,
    LEASE_MS,
    OPERATOR,
    FrozenClock,
    Made,
    RunBuilder,
    digest_of,
    snapshot_of_everything,
)
from tests.queue.losing import CONTROLLER, RUNNER, crashes, free_at, lost, taken
from tests.queue.people_cast import PeopleBuilder, within

swept_or_not = pytest.mark.parametrize("sweep", [transitions.sweep, lambda: None], ids=["swept", "not swept"])
Sweep = Callable[[], object]
# The command lets go of its connection between two sweeps.
on_real_commits = pytest.mark.django_db(transaction=True)


def test_an_expired_lease_is_released(make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(LEASE_MS)

    swept = transitions.sweep()

    lease, event = made.lease, made.events[-1]
    assert swept == Swept(released=1)
    assert (lease.owner_id, lease.expires_at, lease.generation) == (None, None, 1)
    assert (event.type, event.actor_type, event.generation) == ("lease.released", "system", 1)
    assert canonical.loads(event.payload.encode()) == {
        "reason": "expired",
        "ownerId": HOST,
        "crashes": 1,
        "retryAt": None,
    }


def test_the_axes_of_a_released_run_stay_and_it_is_offered(make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(LEASE_MS)

    transitions.sweep()

    assert (made.axes, made.lease.ready_at) == (("running", "running"), made.run.available_at)
    assert taken(made) == [made.run_id]


def test_a_live_lease_is_left_alone(make: RunBuilder, clock: FrozenClock) -> None:
    make.running()
    make.queued()
    make.completed()
    make.parked()
    clock.advance(LEASE_MS - 1)
    before = snapshot_of_everything()

    assert transitions.sweep() == Swept()
    assert snapshot_of_everything() == before


def test_a_second_sweep_finds_nothing_left(make: RunBuilder, clock: FrozenClock) -> None:
    make.running()
    clock.advance(LEASE_MS)
    transitions.sweep()
    before = snapshot_of_everything()

    assert transitions.sweep() == Swept()
    assert snapshot_of_everything() == before


def test_a_sweep_with_nothing_to_do_begins_no_transaction(make: RunBuilder) -> None:
    make.running()

    with CaptureQueriesContext(connection) as captured:
        transitions.sweep()

    # Of the decisions: their own sweep, in one short transaction.
    assert len([query for query in captured if "SAVEPOINT" in query["sql"]]) <= 2
    assert not [query for query in captured if query["sql"].startswith(("UPDATE", "INSERT", "DELETE"))]


def test_all_projects_are_swept(make: RunBuilder, other_project: Project, clock: FrozenClock) -> None:
    mine, theirs = make.running(), RunBuilder(other_project).running()
    clock.advance(LEASE_MS)

    assert transitions.sweep() == Swept(released=2)
    assert (mine.lease.owner_id, theirs.lease.owner_id) == (None, None)


def test_a_sweep_has_a_limit_and_says_that_it_is_behind(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    transitions.reserve_all(project, [make.reservation() for _ in range(12)])
    transitions.claim_next(project, RUNNER, [f"token {n}" for n in range(12)])
    clock.advance(LEASE_MS)

    swept = [transitions.sweep(limit=5) for _ in range(4)]

    assert [each.released for each in swept] == [5, 5, 2, 0]
    assert [each.is_behind for each in swept] == [True, True, False, False]


def test_releasing_costs_as_many_statements_for_a_hundred_as_for_one(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    counts = []
    for size in (1, 100):
        with transaction.atomic():
            transitions.reserve_all(project, [make.reservation() for _ in range(size)])
            transitions.claim_next(project, RUNNER, [f"token {n}" for n in range(size)])
            clock.advance(LEASE_MS)
            with CaptureQueriesContext(connection) as captured:
                assert transitions.sweep().released == size
            transaction.set_rollback(True)
        counts.append(len(captured))

    assert counts[0] == counts[1]


@swept_or_not
def test_a_late_renewal_is_refused_in_the_same_words(
    project: Project, make: RunBuilder, clock: FrozenClock, sweep: Sweep
) -> None:
    made = make.running()
    clock.advance(35_000)
    sweep()

    outcomes = transitions.renew_all(project, [made.hold], LEASE_MS)
    foreign = transitions.renew_all(project, [Hold(made.run_id, "somebody else's token")], LEASE_MS)

    told = [outcome.facts["cause"] for outcome in (*outcomes, *foreign) if isinstance(outcome, errors.LeaseLost)]
    assert told == ["expired", "superseded"]


@swept_or_not
@pytest.mark.parametrize(
    "call",
    [
        lambda made: transitions.complete(made.project, Completion(made.run_id, made.token)),
        lambda made: transitions.fail(made.project, Failure(made.run_id, "late", "Late.", made.token)),
        lambda made: transitions.park(made.project, made.hold),
        lambda made: transitions.record_event(made.project, Note(made.run_id, "late", token=made.token), OPERATOR),
    ],
    ids=["complete", "fail", "park", "record event"],
)
def test_whatever_comes_late_is_refused_in_the_same_words(
    make: RunBuilder, clock: FrozenClock, sweep: Sweep, call: Callable[[Made], object]
) -> None:
    made = make.running()
    clock.advance(LEASE_MS)
    sweep()
    before = snapshot_of_everything()

    with pytest.raises(errors.LeaseLost) as refused:
        call(made)

    assert (refused.value.facts, refused.value.action) == (
        {"run_id": made.run_id, "cause": "expired"},
        errors.Action.STOP,
    )
    assert snapshot_of_everything() == before


@swept_or_not
def test_a_row_of_lost_runners_is_counted_and_rests_the_same(
    make: RunBuilder, clock: FrozenClock, sweep: Sweep
) -> None:
    made = make.claimed(make.queued())
    counts, rests = [], []
    for _ in range(CRASH_LIMIT - 1):
        clock.advance(LEASE_MS)
        sweep()
        sweep()
        rests.append((free_at(made, clock) - clock.at) // timedelta(milliseconds=1))
        clock.set(free_at(made, clock))
        made = make.claimed(made)
        counts.append(crashes(made))

    assert counts == [1, 2, 3, 4]
    assert rests == [rules_crashes.backoff_ms(count, f"{made.key}:{count}".encode()) for count in counts]


@swept_or_not
def test_the_last_crash_parks_the_run(make: RunBuilder, clock: FrozenClock, sweep: Sweep) -> None:
    made = make.queued()
    for _ in range(CRASH_LIMIT):
        made = lost(make, made, clock)
        sweep()

    assert taken(made) == []
    assert (made.axes, crashes(made)) == (("queued", "parked"), CRASH_LIMIT)
    assert made.run.error_code == ErrorCode.RUNNER_NO_PROGRESS


@swept_or_not
@pytest.mark.parametrize(
    ("policy", "axes"), [("park", ("running", "parked")), ("fail", ("failed", "failed")), ("retry", None)]
)
def test_a_definitions_word_on_lost_runners_is_carried_out(
    make: RunBuilder, clock: FrozenClock, sweep: Sweep, policy: str, axes: tuple[str, str] | None
) -> None:
    made = make.running(definition_digest=digest_of(policy), definition_snapshot={"lostRunner": policy})
    clock.advance(LEASE_MS)
    sweep()

    assert taken(made) == ([] if axes else [made.run_id])
    assert made.axes == (axes or ("running", "starting"))


@swept_or_not
@pytest.mark.parametrize("wish", ["pause", "cancel"])
def test_a_due_wish_refuses_the_holder_in_the_same_words(
    project: Project, make: RunBuilder, clock: FrozenClock, sweep: Sweep, wish: str
) -> None:
    made = make.running()
    ask = transitions.request_pause if wish == "pause" else transitions.request_cancel
    ask(project, made.run_id, 1_000, OPERATOR)
    clock.advance(1_000)
    sweep()

    with pytest.raises(errors.RunPaused if wish == "pause" else errors.RunCancelled):
        transitions.renew(project, made.hold, LEASE_MS)


@pytest.mark.parametrize("wish", ["pause", "cancel"])
def test_a_due_wish_is_carried_out(project: Project, make: RunBuilder, clock: FrozenClock, wish: str) -> None:
    made = make.running()
    ask = transitions.request_pause if wish == "pause" else transitions.request_cancel
    ask(project, made.run_id, 1_000, OPERATOR)
    clock.advance(999)
    too_early = transitions.sweep()
    clock.advance(1)

    assert (too_early, transitions.sweep()) == (Swept(), Swept(settled=1))
    assert made.run.display_status == ("paused" if wish == "pause" else "cancelled")


@swept_or_not
def test_the_order_in_which_runs_are_handed_out_is_the_same(
    project: Project, make: RunBuilder, clock: FrozenClock, sweep: Sweep
) -> None:
    first = make.starting()
    often = lost(make, make.queued(), clock, times=2)
    second = make.queued()
    clock.advance(often.lease.backoff_ms)
    third = make.queued()
    sweep()

    runs = transitions.claim_next(project, RUNNER, ["1", "2", "3", "4"])

    assert [run.run_id for run in runs] == [first.run_id, second.run_id, often.run_id, third.run_id]


@swept_or_not
def test_a_pause_finds_the_same_run(project: Project, make: RunBuilder, clock: FrozenClock, sweep: Sweep) -> None:
    made = lost(make, make.queued(), clock, times=3)
    rests_until = free_at(made, clock)
    sweep()

    transitions.pause(project, made.run_id, OPERATOR)
    transitions.unpause(project, made.run_id, OPERATOR)

    assert (crashes(made), made.lease.retry_at, made.axes) == (3, rests_until, ("queued", "queued"))


@swept_or_not
def test_an_operator_finds_the_same_run(project: Project, make: RunBuilder, clock: FrozenClock, sweep: Sweep) -> None:
    again, cancelled = make.expired(), make.expired()
    sweep()

    transitions.run_now(project, again.run_id, OPERATOR)
    transitions.cancel(project, cancelled.run_id, OPERATOR)

    assert (taken(again), crashes(again)) == ([again.run_id], 0)
    assert cancelled.axes == ("cancelled", "cancelled")


@swept_or_not
def test_a_hold_for_control_that_ran_out_is_nobodys_crash(
    project: Project, make: RunBuilder, clock: FrozenClock, sweep: Sweep
) -> None:
    made = make.queued()
    transitions.claim_for_control(project, made.run_id, CONTROLLER, "a token")
    clock.advance(LEASE_MS)
    sweep()

    assert (taken(made), crashes(made)) == ([made.run_id], 0)


def test_a_run_that_waits_is_released_and_goes_on_waiting(make: RunBuilder, clock: FrozenClock) -> None:
    asked = PeopleBuilder(make).raised()
    clock.advance(LEASE_MS)

    assert transitions.sweep() == Swept(released=1)
    assert (asked.made.run.status, asked.made.lease.owner_id, crashes(asked.made)) == ("waiting", None, 0)
    assert taken(asked.made) == []


def test_an_overdue_decision_is_resolved_once(make: RunBuilder, clock: FrozenClock) -> None:
    decided = PeopleBuilder(make).undecided(deadline_at=within(clock, 60))
    clock.advance(60_000)

    first, second = transitions.sweep(), transitions.sweep()

    assert (first.decisions, second) == (1, Swept())
    assert DecisionResolution.objects.get(decision=decided.decision).provenance == "policy"


def test_receipts_are_forgotten_after_a_day_in_bites(project: Project, clock: FrozenClock) -> None:
    token, _ = transitions.issue_access_token(project, "a runner", [Scope.RUNS_EXECUTE])
    for number in range(3):
        answered(token, f"old {number}")
    clock.advance(24 * 3_600_000)
    answered(token, "young")

    first, second, third = (transitions.sweep(limit=2) for _ in range(3))

    assert (first.receipts, first.is_behind) == (2, True)
    assert (second.receipts, third) == (1, Swept())
    assert [receipt.key for receipt in Receipt.objects.all()] == ["young"]


def answered(token: AccessToken, key: str) -> None:
    transitions.answered_once(token, key, bytes(32), lambda: Answer(200, {}))


def test_a_new_holder_is_told_apart_from_the_one_that_was_swept_away(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    late = make.running()
    clock.advance(LEASE_MS)
    transitions.sweep()
    make.claimed(late, "host-b")

    with pytest.raises(errors.LeaseLost) as refused:
        transitions.renew(project, late.hold, LEASE_MS)

    assert (refused.value.facts["cause"], late.lease.swept_token_hash) == ("superseded", None)


def test_the_command_sweeps_once_and_says_what_it_did(
    make: RunBuilder, clock: FrozenClock, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make.running()
    clock.advance(LEASE_MS)

    call_command("sweep", "--once")

    assert capsys.readouterr().out.startswith("Released 1 expired leases")
    assert made.lease.owner_id is None


def stopped_by_its(number: int, sweep: Callable[[int], Swept]) -> Callable[[int], Swept]:
    """A sweep that asks its process to stop while it is under way, at the call of that number."""
    left = count(number, -1)

    def run(limit: int) -> Swept:
        if next(left) <= 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return sweep(limit)

    return run


@on_real_commits
def test_the_command_sweeps_until_it_is_asked_to_stop_and_finishes_what_is_under_way(
    make: RunBuilder, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make.running()
    clock.advance(LEASE_MS)
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(transitions, "sweep", stopped_by_its(1, transitions.sweep))

    call_command("sweep", "--every", "60")

    assert made.lease.owner_id is None
    assert signal.getsignal(signal.SIGTERM) == before


@on_real_commits
def test_the_command_goes_on_at_once_while_it_is_behind(
    project: Project, make: RunBuilder, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.many_running(7)
    clock.advance(LEASE_MS)
    monkeypatch.setattr(transitions, "sweep", stopped_by_its(4, transitions.sweep))

    call_command("sweep", "--every", "60", "--limit", "2")

    assert Lease.objects.unowned().count() == 7


@on_real_commits
def test_the_command_outlives_a_database_that_is_away(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(limit: int) -> Swept:
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(transitions, "sweep", stopped_by_its(1, away))

    call_command("sweep")

    assert "will be tried again" in caplog.text


@pytest.mark.parametrize("options", [["--every", "0"], ["--limit", "0"]])
def test_the_command_refuses_numbers_that_make_no_sense(db: None, options: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("sweep", *options)


def test_reclaiming_is_over_once_the_lease_is(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(LEASE_MS)
    transitions.sweep()

    run = transitions.claim(project, made.run_id, Claimant(HOST, LEASE_MS, reclaim=True), "another token")

    assert (run.lease.generation, run.consecutive_errors) == (2, 1)
    assert run.lease.expires_at == clock.at + timedelta(milliseconds=LEASE_MS)
