"""Holding a run over the wire: renewals, and what is told to who holds it no more."""

from collections.abc import Callable
from typing import Any

import pytest

from runs.models import Event, Run
from tests.api.cast import LEASE_MS, Caller, Reply
from tests.builders import FrozenClock, snapshot_of_everything

WRITES: dict[str, Callable[[Caller, str, str], Reply]] = {
    "renew": lambda caller, run_id, token: caller.post(f"runs/{run_id}/renew", {"token": token}),
    "record event": lambda caller, run_id, token: caller.post(
        f"runs/{run_id}/events", {"token": token, "type": "late", "payload": {}}
    ),
    "start attempt": lambda caller, run_id, token: caller.post(
        f"runs/{run_id}/attempts", {"token": token, "node_id": "n", "attempt_id": "a"}
    ),
    "mark running": lambda caller, run_id, token: caller.post(f"runs/{run_id}/running", {"token": token}),
    "park": lambda caller, run_id, token: caller.post(f"runs/{run_id}/park", {"token": token}),
    "fail": lambda caller, run_id, token: caller.post(
        f"runs/{run_id}/fail", {"token": token, "error_code": "x", "error_message": "x"}
    ),
    "cancel": lambda caller, run_id, token: caller.post(f"runs/{run_id}/cancel", {"token": token}),
    "complete": lambda caller, run_id, token: caller.post(
        f"runs/{run_id}/complete", {"token": token, "output": {"x": 1}}
    ),
}


def test_everything_sent_after_a_takeover_is_refused_as_lease_lost(
    client: Caller, runner: Caller, other_runner: Caller, frozen: FrozenClock
) -> None:
    run_id = client.reserve()
    old = runner.run(run_id)
    frozen.advance(31_000)
    new = other_runner.run(run_id)
    journal = Event.objects.count()

    for name, write in WRITES.items():
        reply = write(runner, run_id, old)
        assert reply.problem == (409, "lease_lost"), name
        assert (reply.body["cause"], reply.body["action"], reply.body["run_id"]) == ("superseded", "stop", run_id)
        assert "Retry-After" not in reply.headers
    assert Event.objects.count() == journal
    assert Run.objects.get().revision == journal

    done = other_runner.post(f"runs/{run_id}/complete", {"token": new, "output": {"x": 2}})
    assert (done.status, client.get(f"runs/{run_id}").body["output"]) == (200, {"x": 2})
    last = client.get(f"runs/{run_id}/events").body["results"][-1]
    assert (last["type"], last["generation"]) == ("run.queue_done", 2)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_lease_is_over_at_its_end_taken_over_or_not(
    client: Caller, runner: Caller, frozen: FrozenClock, write: Callable[..., Reply]
) -> None:
    run_id = client.reserve()
    token = runner.run(run_id)
    frozen.advance(LEASE_MS)
    before = snapshot_of_everything()

    reply = write(runner, run_id, token)

    assert reply.problem == (409, "lease_lost")
    assert reply.body["cause"] == "expired"
    assert snapshot_of_everything()["runs_event"] == before["runs_event"]
    assert snapshot_of_everything()["runs_run"] == before["runs_run"]
    assert snapshot_of_everything()["runs_lease"] == before["runs_lease"]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_parked_run_is_its_holders_no_more(client: Caller, runner: Caller, write: Callable[..., Reply]) -> None:
    run_id = client.reserve()
    token = runner.run(run_id)
    assert runner.post(f"runs/{run_id}/park", {"token": token}).body["queue_status"] == "parked"

    reply = write(runner, run_id, token)

    assert (reply.problem, reply.body["cause"]) == ((409, "lease_lost"), "released")


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_cancelled_run_tells_its_holder_so(
    client: Caller, runner: Caller, operator: Caller, write: Callable[..., Reply]
) -> None:
    run_id = client.reserve()
    token = runner.run(run_id)
    operator.post(f"runs/{run_id}/cancel")

    reply = write(runner, run_id, token)

    assert (reply.problem, reply.body["action"]) == ((409, "run_cancelled"), "stop")


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_finished_run_tells_how_it_ended(client: Caller, runner: Caller, write: Callable[..., Reply]) -> None:
    run_id = client.reserve()
    token = runner.run(run_id)
    runner.post(f"runs/{run_id}/complete", {"token": token})

    reply = write(runner, run_id, token)

    assert (reply.problem, reply.body["run_status"]) == ((409, "run_finished"), "completed")
    assert reply.body["status"] == 409


def test_a_renewal_counts_from_now_and_makes_no_event(client: Caller, runner: Caller, frozen: FrozenClock) -> None:
    run_id = client.reserve()
    token = runner.run(run_id)
    frozen.advance(LEASE_MS - 1)
    events = Event.objects.count()

    lease = runner.post(f"runs/{run_id}/renew", {"token": token, "lease_ms": 60_000}).body["lease"]

    assert (lease["generation"], lease["lease_ms"], lease["lease_remaining_ms"]) == (1, 60_000, 60_000)
    assert (lease["expires_at"], lease["renew_in_ms"]) == ("2026-12-01T03:01:29.999Z", 20_000)
    assert Event.objects.count() == events


def test_many_leases_are_renewed_at_once_each_with_its_outcome(
    client: Caller, runner: Caller, operator: Caller
) -> None:
    held, cancelled, others = client.reserve(), client.reserve(), client.reserve()
    tokens = [runner.run(held), runner.run(cancelled), runner.run(others)]
    operator.post(f"runs/{cancelled}/cancel")
    leases: list[Any] = [
        {"run_id": cancelled, "token": tokens[1]},
        {"run_id": held, "token": tokens[0]},
        {"run_id": others, "token": tokens[0]},
        {"run_id": held, "token": tokens[0]},
        {"run_id": "never", "token": "x" * 43},
        {"run_id": held},
        "odd",
    ]

    results = runner.post("renewals", {"leases": leases, "lease_ms": 50_000}).body["results"]

    assert [result["run_id"] for result in results] == [cancelled, held, others, held, "never", held, None]
    assert [result["ok"] for result in results] == [False, True, False, False, False, False, False]
    assert results[1]["lease"]["lease_ms"] == 50_000
    assert [result["problem"]["code"] for result in results if not result["ok"]] == [
        "run_cancelled", "lease_lost", "duplicate_item", "not_found", "invalid_request", "invalid_request",
    ]  # fmt: skip
    assert results[0]["problem"]["status"] == 409


def test_renewals_have_a_cap(runner: Caller) -> None:
    leases = [{"run_id": f"run-{number}", "token": "x" * 43} for number in range(101)]

    assert runner.post("renewals", {"leases": leases}).problem == (400, "invalid_request")
    assert runner.post("renewals", {"leases": []}).problem == (400, "invalid_request")
    assert len(runner.post("renewals", {"leases": leases[:100]}).body["results"]) == 100
