"""Pauses, wishes and sweeps against claims: what an operator wants is never lost, and nothing is counted twice."""

from functools import partial

import pytest
from django.db import connection

from runs import transitions
from runs.models import Project
from runs.transitions import Claimant, Completion, Hold, Swept
from tests.builders import LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder
from tests.races.meeting import Act, Crowd, codes

# A thousand rounds take minutes on a busy machine.
pytestmark = [pytest.mark.postgres, pytest.mark.timeout(900)]


def claim_next(project: Project, token: str) -> Act:
    return partial(transitions.claim_next, project, Claimant("host-next", LEASE_MS), [token])


def pause(made: Made) -> Act:
    return partial(transitions.pause, made.project, made.run_id, OPERATOR)


def unpause(made: Made) -> Act:
    return partial(transitions.unpause, made.project, made.run_id, OPERATOR)


def test_a_pause_is_never_lost_to_a_claim_next(project: Project, make: RunBuilder, rounds: int) -> None:
    with Crowd(2) as crowd:
        for number in range(rounds):
            made, token = make.queued(), f"the token of round {number}"

            claimed, _ = crowd.at_once(claim_next(project, token), pause(made))

            run, lease = made.run, made.lease
            assert (run.paused, run.queue_status, lease.owner_id, lease.ready_at) == (True, "parked", None, None)
            assert lease.generation == len(claimed)
            holder = partial(transitions.renew, project, Hold(made.run_id, token), LEASE_MS)
            assert codes(crowd.at_once(holder)) == ["run_paused"]


def test_the_claim_by_id_that_waited_for_a_pause_is_told_of_it(make: RunBuilder, rounds: int) -> None:
    with Crowd(1) as crowd:
        for _ in range(rounds):
            made = make.queued()

            outcomes = crowd.behind([made], partial(make.claimed, made), then=pause(made))

            assert codes(outcomes) == ["run_paused"]


def test_of_two_claims_after_an_unpause_one_gets_the_run(project: Project, make: RunBuilder, rounds: int) -> None:
    with Crowd(3) as crowd:
        for number in range(rounds):
            made = make.queued()
            transitions.pause(project, made.run_id, OPERATOR)
            claims = [claim_next(project, f"token {each} of round {number}") for each in range(2)]

            *claimed, _ = crowd.at_once(*claims, unpause(made))

            holders = sum(map(len, claimed))
            assert holders in (0, 1)
            assert made.lease.generation == holders
            assert (made.run.queue_status, made.run.paused) == ("starting" if holders else "queued", False)
            transitions.cancel(project, made.run_id, OPERATOR)


def test_a_due_pause_against_completion_sweep_and_claim_is_carried_out_once(
    project: Project, make: RunBuilder, clock: FrozenClock, rounds: int
) -> None:
    with Crowd(4) as crowd:
        for number in range(rounds):
            made = make.running()
            transitions.request_pause(project, made.run_id, LEASE_MS // 2, OPERATOR)
            clock.advance(LEASE_MS)

            completed, *_ = crowd.at_once(
                partial(transitions.complete, project, Completion(made.run_id, made.token)),
                transitions.sweep,
                claim_next(project, f"token of round {number}"),
                partial(make.claimed, made),
            )

            assert codes([completed]) == ["run_paused"]
            assert made.event_types.count("run.paused") == 1
            assert (made.run.display_status, made.run.consecutive_errors) == ("paused", 1)


def test_sweeps_and_claims_at_once_count_a_crash_once(
    project: Project, make: RunBuilder, clock: FrozenClock, rounds: int
) -> None:
    with Crowd(4) as crowd:
        for number in range(rounds):
            made = make.running()
            clock.advance(LEASE_MS)

            *_, claimed, taken = crowd.at_once(
                transitions.sweep,
                transitions.sweep,
                claim_next(project, f"token of round {number}"),
                partial(make.claimed, made),
            )

            # All of them look past a row that is locked at the moment, but for the claim by id, which waits.
            assert len(claimed) + isinstance(taken, Made) == 1
            assert (made.run.consecutive_errors, made.lease.generation) == (1, 2)
            transitions.cancel(project, made.run_id, OPERATOR)


def test_many_sweeps_share_the_work(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    runs = make.many_running(400)
    clock.advance(LEASE_MS)

    with Crowd(4) as crowd:
        swept = crowd.at_once(*[transitions.sweep] * 4)

    assert sum(each.released for each in swept) == 400
    assert transitions.sweep() == Swept()
    assert {made.run.consecutive_errors for made in runs[:20]} == {1}
    assert connection.vendor == "postgresql"
