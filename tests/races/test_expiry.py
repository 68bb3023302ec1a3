"""Completions, sweeps and claims around the expiry of many leases: each run has one holder, and one end."""

import threading
from functools import partial
from itertools import count

import pytest
from django.db import connection

from runs import errors, transitions
from runs.models import Event, Project
from runs.states import TERMINAL_EVENTS
from runs.transitions import Claimant, Completion
from tests.builders import LEASE_MS, FrozenClock, Made, RunBuilder
from tests.races.meeting import Crowd

HOLDERS, SWEEPERS, CLAIMERS = 3, 2, 3


class Evening:
    """Completes runs one by one; when half of them have been tried, time runs out for all leases."""

    def __init__(self, runs: list[Made], clock: FrozenClock) -> None:
        self.refusals: dict[str, errors.Refusal | None] = {}
        self.is_over = threading.Event()
        self._half = len(runs) // 2
        self._clock = clock
        self._guard = threading.Lock()

    def complete(self, runs: list[Made]) -> None:
        for made in runs:
            try:
                transitions.complete(made.project, Completion(made.run_id, made.token, made.run_id))
            except errors.LeaseLost as refusal:
                self._note(made, refusal)
            else:
                self._note(made, None)

    def _note(self, made: Made, refusal: errors.Refusal | None) -> None:
        with self._guard:
            self.refusals[made.run_id] = refusal
            if len(self.refusals) == self._half:
                self._clock.advance(LEASE_MS)
                self.is_over.set()


@pytest.mark.parametrize(("repeats", "size"), [(2, 60), pytest.param(20, 200, marks=pytest.mark.slow)])
def test_a_run_is_finished_exactly_once_when_completion_and_expiry_collide(
    project: Project, make: RunBuilder, clock: FrozenClock, repeats: int, size: int
) -> None:
    numbers = count()

    def sweep(evening: Evening) -> None:
        evening.is_over.wait(30)
        while transitions.sweep().total:
            pass

    def claim(evening: Evening, owner_id: str) -> None:
        evening.is_over.wait(30)
        while transitions.claim_next(project, Claimant(owner_id, LEASE_MS), [f"new token {next(numbers)}"]):
            pass

    for _ in range(repeats):
        runs = make.many_running(size)
        evening = Evening(runs, clock)

        with Crowd(HOLDERS + SWEEPERS + CLAIMERS) as crowd:
            crowd.at_once(
                *[partial(evening.complete, runs[number::HOLDERS]) for number in range(HOLDERS)],
                *[partial(sweep, evening)] * SWEEPERS,
                *[partial(claim, evening, f"host-new-{number}") for number in range(CLAIMERS)],
            )
        # Whoever is still without a holder gets one.
        transitions.claim_next(project, Claimant("host-last", LEASE_MS), [f"last {next(numbers)}" for _ in range(100)])

        for made in runs:
            assert_one_shape(made, evening.refusals[made.run_id])


def assert_one_shape(made: Made, refusal: errors.Refusal | None) -> None:
    """Completed by its first holder, or in the hands of another with the first one's completion refused."""
    ends = Event.objects.filter(run=made.key, type__in=TERMINAL_EVENTS)
    if refusal is None:
        assert (made.axes, made.lease.generation) == (("completed", "done"), 1)
        assert [end.generation for end in ends] == [1]
    else:
        assert (made.axes, made.lease.generation) == (("running", "starting"), 2)
        assert list(ends) == []


@pytest.mark.postgres
@pytest.mark.parametrize("is_swept", [False, True], ids=["not swept", "swept"])
def test_whether_a_late_completion_counts_does_not_depend_on_the_sweep(
    make: RunBuilder, clock: FrozenClock, few_rounds: int, is_swept: bool
) -> None:
    runs = make.many_running(few_rounds)
    clock.advance(LEASE_MS)
    late = [partial(transitions.complete, made.project, Completion(made.run_id, made.token)) for made in runs]

    with Crowd(2) as crowd:
        outcomes = [crowd.at_once(act, transitions.sweep if is_swept else connection.ensure_connection) for act in late]

    facts = {(refused.code, refused.facts["cause"]) for refused, _ in outcomes}
    assert facts == {("lease_lost", "expired")}
