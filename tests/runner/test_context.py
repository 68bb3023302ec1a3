"""What durable steps promise, and what is never written."""

from typing import Any

import httpx
import pytest

from tests.runner.builders import context, pass_the_lease
from tests.runner.fake_clock import FakeClock
from tests.runner.fake_server import FakeServer
from workflowq.runner import Client, Drained, KitError, LeaseLost, NodeRepeated, RunCancelled, ServerProblem, WrongInput


def never() -> None:
    raise AssertionError("this step was done before")


def test_a_step_stores_its_output(client: Client, fake: FakeServer) -> None:
    ctx, _, run = context(client, fake)

    output = ctx.step("sum", lambda a, b: a + b, 2, b=3)

    assert output == 5
    assert (run.attempts["sum"]["status"], run.attempts["sum"]["output"]) == ("completed", 5)


def test_a_finished_step_is_given_back_and_not_done_again(client: Client, fake: FakeServer) -> None:
    ctx, _, run = context(client, fake)
    run.attempts["sum"] = {"attempt_id": "a", "node_id": "sum", "attempt_number": 1, "status": "completed", "output": 5}

    assert ctx.step("sum", never) == 5
    assert ctx.steps_done == 0


def test_an_output_comes_back_as_it_is_stored(client: Client, fake: FakeServer) -> None:
    ctx, _, _ = context(client, fake)

    assert ctx.step("pair", lambda: {"pair": (1, 2), 3: None}) == {"pair": [1, 2], "3": None}


def test_an_answer_lost_after_the_step_does_not_repeat_it(client: Client, fake: FakeServer) -> None:
    ctx, _, run = context(client, fake)
    done: list[int] = []
    fake.lose("/attempts")
    fake.lose("/complete")

    ctx.step("once", lambda: done.append(1))

    assert done == [1]
    assert run.attempts["once"]["attempt_number"] == 1
    assert run.attempts["once"]["status"] == "completed"


def test_a_failed_step_is_told_and_its_error_raised(client: Client, fake: FakeServer) -> None:
    ctx, held, run = context(client, fake)

    def fail() -> None:
        raise ValueError(f"no bolt, token {held.token}\x00")

    with pytest.raises(ValueError, match="no bolt"):
        ctx.step("fit", fail)

    assert run.attempts["fit"]["status"] == "failed"
    assert run.attempts["fit"]["error_message"].startswith("ValueError: no bolt, token [secret]\ufffd")
    assert ctx.step("after", lambda: 1) == 1


@pytest.mark.parametrize("output", [{1, 2}, float("nan"), object(), b"bytes"])
def test_an_output_that_json_cannot_hold_fails_the_step(client: Client, fake: FakeServer, output: Any) -> None:
    ctx, _, run = context(client, fake)

    with pytest.raises(WrongInput, match="step 'odd'"):
        ctx.step("odd", lambda: output)

    assert run.attempts["odd"]["status"] == "failed"


def test_an_output_that_the_server_refuses_fails_the_step(client: Client, fake: FakeServer) -> None:
    ctx, _, run = context(client, fake)
    fake.answer("/complete", httpx.Response(413, json={"code": "payload_too_large", "action": "mend"}))

    with pytest.raises(WrongInput, match="payload_too_large"):
        ctx.step("big", lambda: "x")

    assert run.attempts["big"]["status"] == "failed"


def test_a_node_id_used_twice_is_refused(client: Client, fake: FakeServer) -> None:
    ctx, _, _ = context(client, fake)
    ctx.step("one", lambda: 1)

    with pytest.raises(NodeRepeated, match="'one'"):
        ctx.step("one", never)


def test_steps_do_not_nest(client: Client, fake: FakeServer) -> None:
    ctx, _, _ = context(client, fake)

    with pytest.raises(KitError, match="nest"):
        ctx.step("outer", lambda: ctx.step("inner", never))


def test_a_step_begins_only_while_the_lease_is_held(client: Client, fake: FakeServer, clock: FakeClock) -> None:
    ctx, _, _ = context(client, fake)
    clock.now += 30
    before = len(fake.calls)

    with pytest.raises(LeaseLost):
        ctx.step("late", never)

    assert len(fake.calls) == before


def test_nothing_is_written_once_the_lease_is_lost(client: Client, fake: FakeServer, clock: FakeClock) -> None:
    ctx, _, run = context(client, fake)

    with pytest.raises(LeaseLost):
        ctx.step("slow", lambda: pass_the_lease(clock, fake, "r"))
    with pytest.raises(LeaseLost):
        ctx.step("next", never)
    with pytest.raises(LeaseLost):
        ctx.log("note")
    with pytest.raises(LeaseLost):
        ctx.progress(1)

    assert [call.path for call in fake.calls] == ["claims", "runs/r/attempts"]
    assert run.attempts["slow"]["status"] == "running"


def test_the_first_refusal_stops_all_writing(client: Client, fake: FakeServer) -> None:
    ctx, _, run = context(client, fake)
    run.status = "cancelled"

    with pytest.raises(RunCancelled):
        ctx.log("note")
    before = len(fake.calls)
    with pytest.raises(RunCancelled):
        ctx.step("next", never)

    assert len(fake.calls) == before


def test_a_server_away_for_longer_than_the_lease_is_a_lost_lease(
    client: Client, fake: FakeServer, clock: FakeClock
) -> None:
    ctx, _, _ = context(client, fake)
    fake.down = True

    with pytest.raises(LeaseLost):
        ctx.step("next", never)

    assert clock.now == pytest.approx(1030)


def test_a_draining_runner_is_noticed_at_the_next_step(client: Client, fake: FakeServer) -> None:
    ctx, _, _ = context(client, fake, draining=True)

    with pytest.raises(Drained):
        ctx.step("next", never)

    assert ctx.drained


def test_a_run_handed_back_lets_its_step_write_nothing(client: Client, fake: FakeServer) -> None:
    ctx, held, run = context(client, fake)

    with pytest.raises(Drained):
        ctx.step("slow", lambda: held.take_last_word(handing_back=True))

    assert run.attempts["slow"]["status"] == "running"
    assert ctx.drained


def test_progress_goes_to_the_open_step_twice_a_second(client: Client, fake: FakeServer, clock: FakeClock) -> None:
    ctx, _, run = context(client, fake)

    def work() -> None:
        for done in range(100):
            ctx.progress({"done": done})
            clock.now += 1 / 64

    ctx.step("work", work)

    assert run.attempts["work"]["progress"] == [{"done": done} for done in (0, 32, 64, 96)]


def test_progress_outside_a_step_is_a_seldom_event(client: Client, fake: FakeServer, clock: FakeClock) -> None:
    ctx, _, run = context(client, fake)

    for done in range(12):
        ctx.progress(done)
        clock.now += 1

    assert [event["payload"]["progress"] for event in run.events] == [0, 5, 10]
    assert {event["type"] for event in run.events} == {"progress"}


def test_progress_does_not_hold_up_the_work(client: Client, fake: FakeServer, clock: FakeClock) -> None:
    ctx, _, _ = context(client, fake)
    fake.away("/progress")

    assert ctx.step("work", lambda: ctx.progress(1)) is None

    assert clock.now == 1000


def test_progress_stops_a_step_whose_run_is_gone(client: Client, fake: FakeServer) -> None:
    ctx, _, run = context(client, fake)

    def work() -> None:
        run.paused = True
        ctx.progress(1)
        never()

    with pytest.raises(ServerProblem, match="run_paused"):
        ctx.step("work", work)

    assert run.attempts["work"]["status"] == "running"


def test_a_log_is_an_event_of_the_run(client: Client, fake: FakeServer) -> None:
    ctx, _, run = context(client, fake)

    ctx.log("parts.counted", {"parts": 3})

    assert run.events == [{"type": "parts.counted", "payload": {"parts": 3}}]
    assert (ctx.run_id, ctx.input) == ("r", {"number": 1})
