"""Claims that meet: every run goes to one of them, and none is overlooked."""

from functools import partial
from itertools import count

import pytest
from django.db import transaction

from runs import transitions
from runs.models import Event, Lease, Project
from runs.states import Scope
from runs.transitions import Claimant
from tests.builders import LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder
from tests.races.meeting import Crowd, codes

ONE, OTHER = Claimant("host-one", LEASE_MS), Claimant("host-other", LEASE_MS)


def claim(made: Made, claimant: Claimant) -> object:
    return transitions.claim(made.project, made.run_id, claimant, f"a token of {claimant.owner_id}")


def test_of_two_claims_of_a_run_one_gets_it(make: RunBuilder, rounds: int) -> None:
    runs = make.many(rounds)

    with Crowd(2) as crowd:
        outcomes = [crowd.at_once(partial(claim, made, ONE), partial(claim, made, OTHER)) for made in runs]

    assert {tuple(codes(each)) for each in outcomes} == {("done", "lease_held")}
    assert set(Lease.objects.values_list("generation", flat=True)) == {1}


def test_of_two_takeovers_of_an_expired_run_one_gets_it(make: RunBuilder, clock: FrozenClock, rounds: int) -> None:
    runs = make.many_running(rounds)
    clock.advance(LEASE_MS)

    with Crowd(2) as crowd:
        outcomes = [crowd.at_once(partial(claim, made, ONE), partial(claim, made, OTHER)) for made in runs]

    assert {tuple(codes(each)) for each in outcomes} == {("done", "lease_held")}
    assert set(Lease.objects.values_list("generation", flat=True)) == {2}


@pytest.mark.postgres
def test_the_claim_that_waited_for_the_other_is_told_that_somebody_holds_the_run(
    make: RunBuilder, few_rounds: int
) -> None:
    runs = make.many(few_rounds)

    with Crowd(1) as crowd:
        outcomes = [crowd.behind([made], partial(claim, made, OTHER), then=partial(claim, made, ONE)) for made in runs]

    assert {tuple(codes(each)) for each in outcomes} == {("lease_held",)}
    assert set(Lease.objects.values_list("owner_id", flat=True)) == {"host-one"}


def test_eight_runners_share_two_hundred_runs_without_a_quarrel(project: Project, make: RunBuilder) -> None:
    make.many(100)
    expired = make.many(100)
    numbers = count()

    def work(owner_id: str) -> list[str]:
        got: list[str] = []
        while runs := transitions.claim_next(project, Claimant(owner_id, LEASE_MS), [f"token {next(numbers)}"]):
            got += [run.run_id for run in runs]
        return got

    with Crowd(8) as crowd:
        shares = crowd.at_once(*[partial(work, f"host-{number}") for number in range(8)])

    taken = [run_id for share in shares for run_id in share]
    assert len(taken) == len(set(taken)) == 100 + len(expired)
    assert Event.objects.filter(type="lease.claimed").count() == len(taken)
    assert set(Lease.objects.values_list("generation", flat=True)) == {1}


@pytest.mark.postgres
def test_a_claim_looks_past_the_runs_that_others_are_taking_at_this_moment(project: Project, make: RunBuilder) -> None:
    taken = make.many(40)
    make.queued(run_id="zzz-behind-them")

    with transaction.atomic(), Crowd(1) as crowd:
        list(Lease.objects.locked().filter(run__run_id__in=[made.run_id for made in taken]))
        (runs,) = crowd.at_once(partial(transitions.claim_next, project, ONE, ["a token"]))

    assert [run.run_id for run in runs] == ["zzz-behind-them"]


def test_a_pause_against_a_claim_leaves_a_paused_run_that_nobody_holds(
    project: Project, make: RunBuilder, rounds: int
) -> None:
    runs = make.many(rounds)

    with Crowd(2) as crowd:
        for number, made in enumerate(runs):
            crowd.at_once(
                partial(transitions.claim_next, project, ONE, [f"token {number}"]),
                partial(transitions.pause, project, made.run_id, OPERATOR),
            )

    assert set(Lease.objects.values_list("owner_id", "ready_at")) == {(None, None)}
    assert {made.run.paused for made in runs} == {True}


def test_the_same_claim_sent_twice_takes_once(project: Project, make: RunBuilder, rounds: int) -> None:
    make.many(2 * rounds)
    owner = transitions.issue_access_token(project, "runner", [Scope.RUNS_EXECUTE])[0]
    transitions.own(owner, ONE.owner_id)

    with Crowd(2) as crowd:
        for number in range(rounds):
            twice = partial(transitions.claim_next, project, ONE, [f"token {number}"], once=True)
            outcomes = crowd.at_once(twice, twice)
            assert codes(outcomes) == ["done", "token_in_use"]

    assert Lease.objects.filter(owner_id=ONE.owner_id).count() == rounds
