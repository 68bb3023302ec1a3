"""LEASE-1, LEASE-5 and LEASE-7 over the wire, for what else a holder may send."""

import pytest

from runs import transitions
from runs.models import Effect, Event, Run, WorkflowMessage
from runs.verify import violations
from tests.api.cast import LEASE_MS, Caller, fresh_token
from tests.api.effect_verbs import MAIL
from tests.api.effect_verbs import reserve as reserve_effect
from tests.api.people import CHOICES, SESSION, held, rows
from tests.builders import FrozenClock

TAKEOVERS = [False, True]


@pytest.mark.parametrize("is_taken_over", TAKEOVERS, ids=["expired", "taken over"])
def test_who_lost_the_lease_reaches_no_effect_request_decision_or_message(
    client: Caller, runner: Caller, other_runner: Caller, frozen: FrozenClock, is_taken_over: bool
) -> None:
    """LEASE-1."""
    made = held(client, runner)
    effect = reserve_effect(runner, made.run_id, made.token).removeprefix(f"{made.path}/")
    frozen.advance(31_000)
    if is_taken_over:
        other_runner.run(made.run_id)
    before = rows()

    refused = {
        path: made.post(path, **body)
        for path, body in {
            "effects": {**MAIL, "idempotency_key": "new"},
            f"{effect}/start": {},
            f"{effect}/apply": {"number": 1, "result": 1},
            "requests": {"request_id": "q1", "attempt_id": "a1", "target_session_id": SESSION},
            "decisions": {"decision_id": "d1", "title": "Delete?", "choices": CHOICES},
            "messages": {"message_id": "m1", "target_session_id": SESSION},
            "time-out": {"error_message": "Too long."},
            "attempts/a1/progress": {"progress": 1},
            "attempts/a1/complete": {"output": 1},
            "attempts/a1/fail": {"error_message": "It broke."},
        }.items()
    }

    assert {path: reply.problem for path, reply in refused.items()} == dict.fromkeys(refused, (409, "lease_lost"))
    assert {reply.body["cause"] for reply in refused.values()} == {"superseded" if is_taken_over else "expired"}
    assert rows() == before


def test_what_a_superseded_holder_sends_counts_as_no_error_of_the_run(
    client: Caller, runner: Caller, other_runner: Caller, frozen: FrozenClock
) -> None:
    """LEASE-1: in the order of the case, to the end."""
    made = held(client, runner)
    effect = reserve_effect(runner, made.run_id, made.token).removeprefix(f"{made.path}/")
    frozen.advance(31_000)
    new = other_runner.run(made.run_id)
    counted = Run.objects.get().consecutive_errors

    for path in ("renew", "events", f"{effect}/start", "park", "fail", "complete"):
        body = {"events": {"type": "seen"}, "fail": {"error_code": "x", "error_message": ""}}.get(path, {})
        assert made.post(path, **body).problem == (409, "lease_lost"), path
    assert Run.objects.get().consecutive_errors == counted
    assert (Effect.objects.get().status, WorkflowMessage.objects.count()) == ("pending", 0)
    other_runner.post(f"{made.path}/{effect}/start", {"token": new})
    other_runner.post(f"{made.path}/{effect}/apply", {"token": new, "number": 1, "result": None})
    done = other_runner.post(f"{made.path}/complete", {"token": new, "output": {"x": 2}})

    assert done.body["status"] == "completed"
    assert [event.generation for event in Event.objects.filter(type="run.queue_done")] == [2]
    assert list(violations()) == []


@pytest.mark.parametrize("is_taken_over", TAKEOVERS, ids=["nobody took over", "taken over"])
@pytest.mark.parametrize("is_swept", [False, True], ids=["not swept", "swept"])
def test_a_late_renewal_is_told_the_same_with_or_without_a_sweep(
    client: Caller, runner: Caller, other_runner: Caller, frozen: FrozenClock, is_taken_over: bool, is_swept: bool
) -> None:
    """LEASE-5: alone and in a batch of renewals."""
    run_id = client.reserve()
    token = runner.run(run_id)
    frozen.advance(31_000)
    if is_swept:
        transitions.sweep()
    if is_taken_over:
        other_runner.run(run_id)
    frozen.advance(4_000)
    before = rows()

    alone = runner.post(f"runs/{run_id}/renew", {"token": token})
    (batched,) = runner.post("renewals", {"leases": [{"run_id": run_id, "token": token}]}).body["results"]

    assert alone.problem == (409, "lease_lost")
    assert (alone.body["cause"], alone.body["action"]) == ("superseded" if is_taken_over else "expired", "stop")
    assert (batched["ok"], batched["problem"]) == (False, alone.body)
    assert rows() == before


def test_a_second_process_of_an_owner_gets_nothing_by_claiming_or_by_sweeping(
    client: Caller, runner: Caller, frozen: FrozenClock
) -> None:
    """LEASE-7: whatever a process does when it starts."""
    run_id = client.reserve()
    token = runner.run(run_id)
    frozen.advance(LEASE_MS - 1)
    before = rows()
    second = {"owner_id": runner.owner_id}

    by_id = runner.post(f"runs/{run_id}/claim", {**second, "token": fresh_token()})
    following = runner.post("claims", {**second, "workflows": ["inventory"], "tokens": [fresh_token()]})
    validating = runner.post("validations", {**second, "workflows": ["inventory"], "tokens": [fresh_token()]})
    swept = transitions.sweep()

    assert (by_id.problem, following.body["claims"], validating.body["claims"]) == ((409, "lease_held"), [], [])
    assert (swept.total, {**rows(), "runs_workflow": None}) == (0, {**before, "runs_workflow": None})
    done = runner.post(f"runs/{run_id}/complete", {"token": token, "output": 1})
    assert (done.body["status"], done.body["lease"]["generation"]) == ("completed", 1)
