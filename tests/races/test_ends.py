"""Ends that meet: a run ends once, and whoever comes second is told how."""

from functools import partial

import pytest

from runs import transitions
from runs.models import Event, Run
from runs.states import TERMINAL_EVENTS
from runs.transitions import Completion, EffectReservation, Failure
from tests.builders import OPERATOR, Made, RunBuilder
from tests.races.meeting import Act, Crowd, codes


def complete(made: Made, output: object = None) -> Act:
    return partial(transitions.complete, made.project, Completion(made.run_id, made.token, output))


def fail(made: Made) -> Act:
    return partial(transitions.fail, made.project, Failure(made.run_id, "broken", "It broke.", made.token))


def cancel(made: Made) -> Act:
    return partial(transitions.cancel, made.project, made.run_id, OPERATOR)


def park(made: Made) -> Act:
    return partial(transitions.park, made.project, made.hold)


def reserve_effect(made: Made) -> Act:
    return partial(transitions.reserve_effect, made.project, made.hold, EffectReservation("mail", "key"))


def test_a_run_completes_once(make: RunBuilder, rounds: int) -> None:
    runs = make.many_running(rounds)

    with Crowd(2) as crowd:
        outcomes = [crowd.at_once(complete(made, 1), complete(made, 2)) for made in runs]

    assert {tuple(codes(each)) for each in outcomes} == {("done", "run_finished")}
    assert Event.objects.filter(type__in=TERMINAL_EVENTS).count() == rounds


@pytest.mark.postgres
def test_the_completion_that_waited_finds_the_run_completed(make: RunBuilder, few_rounds: int) -> None:
    runs = make.many_running(few_rounds)

    with Crowd(1) as crowd:
        outcomes = [crowd.behind([made], complete(made, "late"), then=complete(made, "first")) for made in runs]

    assert {tuple(codes(each)) for each in outcomes} == {("run_finished",)}
    assert {bytes(made.run.output.content) for made in runs if made.run.output} == {b'"first"'}


def test_a_cancel_against_a_completion_has_one_winner(make: RunBuilder, rounds: int) -> None:
    runs = make.many_running(rounds)

    with Crowd(2) as crowd:
        outcomes = [crowd.at_once(cancel(made), complete(made)) for made in runs]

    for made, (cancelled, completed) in zip(runs, outcomes, strict=True):
        if made.run.status == "cancelled":
            assert codes([cancelled, completed]) == ["done", "run_cancelled"]
            assert made.lease.generation == 2
        else:
            assert codes([cancelled, completed]) == ["done", "run_finished"]
            assert made.lease.generation == 1
    assert Event.objects.filter(type__in=TERMINAL_EVENTS).count() == rounds


@pytest.mark.postgres
def test_the_completion_that_waited_for_a_cancel_is_told_that_the_run_was_cancelled(
    make: RunBuilder, few_rounds: int
) -> None:
    runs = make.many_running(few_rounds)

    with Crowd(1) as crowd:
        outcomes = [crowd.behind([made], complete(made), then=cancel(made)) for made in runs]

    assert {tuple(codes(each)) for each in outcomes} == {("run_cancelled",)}


def test_of_completing_failing_and_parking_under_one_token_one_counts(make: RunBuilder, rounds: int) -> None:
    runs = make.many_running(rounds)

    with Crowd(3) as crowd:
        outcomes = [crowd.at_once(complete(made), fail(made), park(made)) for made in runs]

    for made, (completed, failed, parked) in zip(runs, outcomes, strict=True):
        (winner,) = [outcome for outcome in (completed, failed, parked) if isinstance(outcome, Run)]
        assert made.axes == (winner.status, winner.queue_status)


def test_an_effect_reserved_against_a_completion_is_open_on_no_completed_run(make: RunBuilder, rounds: int) -> None:
    runs = make.many_running(rounds)

    with Crowd(2) as crowd:
        outcomes = [crowd.at_once(reserve_effect(made), complete(made)) for made in runs]

    for made, each in zip(runs, outcomes, strict=True):
        if made.run.status == "completed":
            assert codes(each) == ["done", "run_finished"]
            assert not made.run.effects.exists()
        else:
            assert codes(each) == ["done", "open_work"]


@pytest.mark.postgres
def test_the_completion_that_waited_for_an_effect_is_refused_over_it(make: RunBuilder, few_rounds: int) -> None:
    runs = make.many_running(few_rounds)

    with Crowd(1) as crowd:
        outcomes = [crowd.behind([made], complete(made), then=reserve_effect(made)) for made in runs]

    assert {tuple(codes(each)) for each in outcomes} == {("open_work",)}
