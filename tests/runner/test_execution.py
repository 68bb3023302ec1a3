"""How one claimed run ends."""

import logging
from typing import Any

import httpx
import pytest

from tests.runner.builders import claimed, pass_the_lease, two_steps
from tests.runner.fake_clock import FakeClock
from tests.runner.fake_run import FakeRun
from tests.runner.fake_server import FakeServer
from workflowq.runner import Client, Context, Drained, RunFinished, Workflow, workflow
from workflowq.runner.execution import Execution, Outcome
from workflowq.runner.redactor import Redactor


class Stage:
    """A claimed run of a workflow, ready to be performed."""

    def __init__(self, client: Client, fake: FakeServer, work: Workflow, digest: str | None = None) -> None:
        self.run: FakeRun = fake.reserve("r", work.definition, {"number": 1})
        self.run.definition_digest = digest or self.run.definition_digest
        self.draining = False
        claim, self.held = claimed(client, work)
        redactor = Redactor(self.held.token)
        self.execution = Execution(client, claim.run, self.held, work, redactor, lambda: self.draining)

    def perform(self) -> Outcome:
        return self.execution.perform()


def made(function: Any) -> Workflow:
    return workflow("made")(function)


def test_a_run_is_completed_with_its_output(client: Client, fake: FakeServer) -> None:
    stage = Stage(client, fake, two_steps)

    assert stage.perform() is Outcome.COMPLETED
    assert (stage.run.status, stage.run.output) == ("completed", {"result": 4})


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt(), RecursionError()])
def test_whatever_a_workflow_raises_fails_its_run_alone(client: Client, fake: FakeServer, error: BaseException) -> None:
    def fail(ctx: Context, input: Any) -> Any:
        raise error

    stage = Stage(client, fake, made(fail))

    assert stage.perform() is Outcome.FAILED
    assert stage.run.error_code == "workflowFailed"
    assert (stage.run.error_message or "").startswith(type(error).__name__)


def test_an_error_text_holds_no_secret(client: Client, fake: FakeServer) -> None:
    def fail(ctx: Context, input: Any) -> Any:
        raise ValueError(f"token {stage.held.token}")

    stage = Stage(client, fake, made(fail))
    stage.perform()

    assert "token [secret]" in (stage.run.error_message or "")
    assert stage.held.token not in (stage.run.error_message or "")


@pytest.mark.parametrize("output", [{1}, float("nan")])
def test_an_output_that_cannot_be_sent_fails_the_run(client: Client, fake: FakeServer, output: Any) -> None:
    stage = Stage(client, fake, made(lambda ctx, input: output))

    assert stage.perform() is Outcome.FAILED
    assert "invalid_json" in (stage.run.error_message or "")


def test_an_output_that_the_server_refuses_fails_the_run(client: Client, fake: FakeServer) -> None:
    stage = Stage(client, fake, made(lambda ctx, input: "x"))
    fake.answer("r/complete", httpx.Response(413, json={"code": "payload_too_large", "action": "mend"}))

    assert stage.perform() is Outcome.FAILED
    assert "payload_too_large" in (stage.run.error_message or "")


def test_open_work_hands_the_run_back(client: Client, fake: FakeServer) -> None:
    stage = Stage(client, fake, made(lambda ctx, input: "x"))
    fake.answer("r/complete", httpx.Response(409, json={"code": "open_work", "action": "mend"}))

    assert stage.perform() is Outcome.REFUSED
    assert stage.run.parked == 1


def test_a_run_of_other_code_is_handed_back_unstarted(client: Client, fake: FakeServer) -> None:
    stage = Stage(client, fake, two_steps, digest="sha256:" + "0" * 64)

    assert stage.perform() is Outcome.REFUSED
    assert (stage.run.parked, stage.run.status) == (1, "queued")
    assert fake.said("running") == []


def test_a_digest_without_its_algorithm_is_the_same(client: Client, fake: FakeServer) -> None:
    stage = Stage(client, fake, two_steps, digest=two_steps.definition.digest.removeprefix("sha256:"))

    assert stage.perform() is Outcome.COMPLETED


def test_nothing_is_said_over_a_lost_lease(client: Client, fake: FakeServer, clock: FakeClock) -> None:
    def swallow(ctx: Context, input: Any) -> Any:
        try:
            ctx.step("slow", lambda: pass_the_lease(clock, fake, "r"))
        except Exception:
            return "never mind"

    stage = Stage(client, fake, made(swallow))

    assert stage.perform() is Outcome.LOST
    assert [call.path for call in fake.calls] == ["claims", "runs/r/running", "runs/r/attempts"]
    assert stage.run.token == "another"


def test_a_cancelled_run_is_let_go(client: Client, fake: FakeServer) -> None:
    def cancelled(ctx: Context, input: Any) -> Any:
        stage.run.status = "cancelled"
        ctx.step("next", lambda: 1)

    stage = Stage(client, fake, made(cancelled))

    assert stage.perform() is Outcome.LOST
    assert fake.said("fail") == []


def test_an_unanswered_last_word_is_left_to_the_lease(client: Client, fake: FakeServer) -> None:
    def cut(ctx: Context, input: Any) -> Any:
        fake.down = True

    stage = Stage(client, fake, made(cut))

    assert stage.perform() is Outcome.UNCLEAR
    assert len(fake.said("complete")) > 3


def test_a_last_word_whose_answer_was_lost_is_repeated_though_a_renewal_says_finished(
    client: Client, fake: FakeServer
) -> None:
    stage = Stage(client, fake, two_steps)
    fake.lose("r/complete")
    fake.meanwhile = lambda path: (
        stage.held.note(RunFinished("run_finished", "stop", 409)) if "r/comp" in path else None
    )

    assert stage.perform() is Outcome.COMPLETED
    assert len(fake.said("r/complete")) == 2


def test_a_run_claimed_while_the_runner_stops_is_parked_unstarted(client: Client, fake: FakeServer) -> None:
    stage = Stage(client, fake, two_steps)
    stage.draining = True

    assert stage.perform() is Outcome.PARKED
    assert stage.run.parked == 1
    assert fake.said("running") == []


def test_a_run_is_parked_at_its_next_boundary_while_the_runner_stops(client: Client, fake: FakeServer) -> None:
    def stopped(ctx: Context, input: Any) -> Any:
        ctx.step("first", lambda: 1)
        stage.draining = True
        ctx.step("second", lambda: 2)

    stage = Stage(client, fake, made(stopped))

    assert stage.perform() is Outcome.PARKED
    assert (stage.run.parked, list(stage.run.attempts)) == (1, ["first"])


@pytest.mark.parametrize("then", ["return", "raise"])
def test_what_a_workflow_makes_of_a_swallowed_drain_is_no_result(client: Client, fake: FakeServer, then: str) -> None:
    def stubborn(ctx: Context, input: Any) -> Any:
        stage.draining = True
        try:
            ctx.step("first", lambda: 1)
        except Drained:
            if then == "raise":
                raise ValueError("from it") from None
            return "half a result"

    stage = Stage(client, fake, made(stubborn))

    assert stage.perform() is Outcome.PARKED
    assert (stage.run.parked, stage.run.status) == (1, "running")


def test_a_run_handed_back_from_outside_gets_no_second_word(client: Client, fake: FakeServer) -> None:
    def slow(ctx: Context, input: Any) -> Any:
        assert stage.execution.hand_back(lambda: client.clock() + 5)
        return "too late"

    stage = Stage(client, fake, made(slow))

    assert stage.perform() is Outcome.PARKED
    assert (stage.run.parked, stage.run.status) == (1, "running")
    assert fake.said("complete") == []
    assert not stage.execution.hand_back(lambda: client.clock() + 5)


def test_a_run_has_one_line_in_the_log(client: Client, fake: FakeServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "workflowq.runner")
    stage = Stage(client, fake, two_steps)

    stage.perform()

    (line,) = caplog.messages
    assert line.startswith("run r two-steps completed in ")
    assert line.endswith("generation 1, 2 step(s) done here")
