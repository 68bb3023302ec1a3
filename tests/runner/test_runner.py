"""The claim loop: what it asks for, how it waits, and how it stops. On real threads, against the wire in memory."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.runner.builders import two_steps
from tests.runner.fake_server import FakeServer
from workflowq.runner import Client, Context, Runner, ServerProblem, Workflow, workflow


@pytest.fixture
def real() -> FakeServer:
    """The server on the real clock, which threads wait on."""
    return FakeServer()


def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.005)


@contextmanager
def serving(fake: FakeServer, *workflows: Workflow, **options: Any) -> Iterator[Runner]:
    """A runner at work on a thread of its own, stopped at the end."""
    with fake.client() as client:
        runner = make(client, *workflows, **options)
        thread = threading.Thread(target=runner.serve)
        thread.start()
        try:
            yield runner
        finally:
            runner.stop()
            thread.join(20)
            assert not thread.is_alive()


def make(client: Client, *workflows: Workflow, **options: Any) -> Runner:
    named = {one.name: one for one in workflows}
    return Runner(client, named, owner_id="host-test-1", **{"concurrency": 2, "grace_seconds": 2, **options})


@contextmanager
def gated() -> Iterator[tuple[Workflow, threading.Event, threading.Event]]:
    """A workflow whose step waits for a gate; with the events 'it waits' and 'the gate'."""
    waits, gate = threading.Event(), threading.Event()

    def pass_gate() -> bool:
        waits.set()
        return gate.wait(20)

    @workflow("gated")
    def wait(ctx: Context, input: Any) -> Any:
        ctx.step("before", lambda: 1)
        ctx.step("wait", pass_gate)
        ctx.step("after", lambda: 1)
        return "through"

    try:
        yield wait, waits, gate
    finally:
        gate.set()


def test_reserved_runs_are_completed(real: FakeServer) -> None:
    runs = [real.reserve(f"r{number}", two_steps.definition, {"number": number}) for number in range(5)]

    with serving(real, two_steps):
        until(lambda: all(run.status == "completed" for run in runs))

    assert [run.output for run in runs] == [{"result": 2 * (number + 1)} for number in range(5)]


def test_it_asks_for_as_many_runs_as_it_has_slots_and_only_for_what_it_serves(real: FakeServer) -> None:
    with gated() as (wait, waits, gate):
        real.reserve("r1", wait.definition)
        real.reserve("other", two_steps.definition)

        with serving(real, wait, concurrency=3):
            until(waits.is_set)
            until(lambda: len(real.said("claims")) >= 2)
            gate.set()

    first, second = real.said("claims")[:2]
    assert (len(first.body["tokens"]), len(second.body["tokens"])) == (3, 2)
    assert first.body["workflows"] == ["gated"]
    assert first.body["owner_id"] == "host-test-1"
    assert all(len(token) >= 43 for token in first.body["tokens"])
    assert not {*first.body["tokens"]} & {*second.body["tokens"]}
    assert real.runs["other"].generation == 0


def test_tokens_of_a_lost_answer_are_sent_again_and_bring_the_same_claims(real: FakeServer) -> None:
    run = real.reserve("r", two_steps.definition, {"number": 1})
    real.lose("claims")

    with serving(real, two_steps):
        until(lambda: run.status == "completed")

    first, second = real.said("claims")[:2]
    assert first.body["tokens"] == second.body["tokens"]
    assert run.generation == 1


def test_a_run_it_cannot_run_is_handed_back_and_not_asked_for_again(real: FakeServer) -> None:
    run = real.reserve("other-code", two_steps.definition)
    run.definition_digest = "sha256:" + "0" * 64
    fine = real.reserve("fine", two_steps.definition, {"number": 1})

    with serving(real, two_steps):
        until(lambda: run.parked and fine.status == "completed")
        until(lambda: "other-code" in real.said("claims")[-1].body.get("exclude_run_ids", []))

    assert run.parked == 1


def test_a_run_that_still_has_a_thread_is_not_taken_a_second_time(real: FakeServer) -> None:
    with gated() as (wait, waits, gate):
        run = real.reserve("r", wait.definition)

        with serving(real, wait, lease_seconds=1):
            until(waits.is_set)
            run.token = None
            until(lambda: real.said("renewals"))
            asked = len(real.said("claims"))
            until(lambda: len(real.said("claims")) > asked)
            gate.set()

    assert run.generation == 1
    assert run.attempts["wait"]["status"] == "running"


def test_a_busy_run_is_renewed_while_it_works(real: FakeServer) -> None:
    with gated() as (wait, waits, gate):
        run = real.reserve("r", wait.definition)

        with serving(real, wait, lease_seconds=1):
            until(waits.is_set)
            until(lambda: len(real.said("renewals")) >= 4)
            gate.set()
            until(lambda: run.status == "completed")

    assert run.generation == 1


def test_a_server_away_is_asked_ever_more_seldom_and_found_again(
    real: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "workflowq.runner")
    run = real.reserve("r", two_steps.definition, {"number": 1})
    real.down = True

    with serving(real, two_steps):
        until(lambda: len(real.calls) >= 3)
        real.down = False
        until(lambda: run.status == "completed", 30)

    assert sum("no answer" in message for message in caplog.messages) == 1
    assert sum("is back" in message for message in caplog.messages) == 1


def test_a_server_away_is_not_hammered(real: FakeServer) -> None:
    real.down = True

    with serving(real, two_steps):
        time.sleep(1.0)

    assert len(real.calls) <= 8


def test_an_idle_runner_polls_at_the_servers_pace(real: FakeServer) -> None:
    with serving(real, two_steps):
        time.sleep(1.0)

    assert 2 <= len(real.calls) <= 8


def test_a_runner_that_the_server_refuses_as_such_ends(real: FakeServer) -> None:
    problem = {"code": "owner_taken", "action": "stop", "status": 409}
    real.answer("claims", httpx.Response(409, json=problem))

    with real.client() as client, pytest.raises(ServerProblem, match="owner_taken"):
        make(client, two_steps).serve()


def test_stopping_lets_a_run_reach_its_boundary_and_parks_it_there(real: FakeServer) -> None:
    with gated() as (wait, waits, gate):
        run = real.reserve("r", wait.definition)

        with serving(real, wait, grace_seconds=20) as runner:
            until(waits.is_set)
            runner.stop()
            gate.set()

    assert (run.parked, run.status) == (1, "running")
    assert run.attempts["wait"]["status"] == "completed"
    assert "after" not in run.attempts
    assert not runner.busy


def test_stopping_takes_nothing_new(real: FakeServer) -> None:
    with serving(real, two_steps) as runner:
        runner.stop()
        until(lambda: not runner.busy)
        real.reserve("late", two_steps.definition, {"number": 1})

    assert real.runs["late"].generation == 0


def test_what_does_not_reach_a_boundary_in_the_grace_is_parked_and_writes_nothing_more(real: FakeServer) -> None:
    with gated() as (wait, waits, gate):
        run = real.reserve("r", wait.definition)

        with serving(real, wait, grace_seconds=0.2) as runner:
            until(waits.is_set)
            runner.stop()
            until(lambda: run.parked)
            assert runner.busy

        calls = len(real.calls)
        gate.set()
        until(lambda: not runner.busy)

    assert len(real.calls) == calls
    assert run.attempts["wait"]["status"] == "running"


def test_runs_claimed_by_an_answer_that_comes_after_the_stop_are_parked(real: FakeServer) -> None:
    run = real.reserve("r", two_steps.definition)

    with real.client() as client:
        runner = make(client, two_steps)
        real.meanwhile = lambda path: runner.stop()
        runner.serve()

    assert (run.parked, run.status, run.generation) == (1, "queued", 1)
    assert len(real.said("claims")) == 1


def test_more_refused_runs_than_can_be_excluded_come_round_seldom(real: FakeServer) -> None:
    for number in range(140):
        real.reserve(f"r{number}", two_steps.definition).definition_digest = "sha256:" + "0" * 64

    with serving(real, two_steps, concurrency=10):
        until(lambda: sum(run.parked for run in real.runs.values()) >= 100)
        before = len(real.calls)
        time.sleep(1.0)

    assert len(real.calls) - before <= 60
    assert all(len(call.body.get("exclude_run_ids", [])) <= 100 for call in real.said("claims"))


@pytest.mark.parametrize("concurrency", [0, 101])
def test_a_concurrency_that_one_claim_cannot_serve_is_refused(real: FakeServer, concurrency: int) -> None:
    with real.client() as client, pytest.raises(ValueError):
        make(client, two_steps, concurrency=concurrency)
