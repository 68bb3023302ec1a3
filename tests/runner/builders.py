"""Small things that the kit's tests are made of."""

import secrets
from typing import Any

from tests.runner.fake_clock import FakeClock
from tests.runner.fake_run import FakeRun
from tests.runner.fake_server import FakeServer
from workflowq.runner import Client, Context, Workflow, workflow
from workflowq.runner.lease import HeldLease
from workflowq.runner.redactor import Redactor
from workflowq.runner.wire import Claim


@workflow("two-steps")
def two_steps(ctx: Context, input: Any) -> Any:
    first = ctx.step("first", lambda: input["number"] + 1)
    return {"result": ctx.step("second", lambda: first * 2)}


def claimed(client: Client, workflow: Workflow, lease_ms: int = 30_000) -> tuple[Claim, HeldLease]:
    """The next run of the workflow, and what its runner believes of the lease."""
    token = secrets.token_urlsafe(32)
    (claim,) = client.claim_next("host-test", [workflow.name], [token], lease_ms=lease_ms).claims
    return claim, HeldLease(claim.run.run_id, token, claim.lease, client.clock)


def context(client: Client, server: FakeServer, draining: bool = False) -> tuple[Context, HeldLease, FakeRun]:
    """A context over a freshly claimed run r."""
    run = server.reserve("r", two_steps.definition, {"number": 1})
    claim, held = claimed(client, two_steps)
    return Context(client, claim.run, held, Redactor(held.token), lambda: draining), held, run


def pass_the_lease(clock: FakeClock, server: FakeServer, run_id: str) -> None:
    """Lets the lease run out and another runner take the run over."""
    clock.now += 31
    run = server.runs[run_id]
    run.token, run.ends, run.generation = "another", clock.now + 30, run.generation + 1
