"""How the client repeats, when it stops, and what it raises."""

import json
from typing import Any

import httpx
import pytest

from tests.runner.builders import claimed, two_steps
from tests.runner.fake_clock import FakeClock
from tests.runner.fake_server import TOKEN, FakeServer
from workflowq.runner import (
    Client,
    LeaseLost,
    RunCancelled,
    RunFinished,
    RunPaused,
    ServerAway,
    ServerProblem,
    TryLater,
    WrongInput,
)


def problem(code: str, action: str, status: int, **headers: str) -> httpx.Response:
    content = json.dumps({"code": code, "action": action, "status": status, "detail": "so it is"})
    return httpx.Response(status, content=content, headers={"Content-Type": "application/problem+json", **headers})


def test_a_repeat_after_a_lost_answer_is_the_same_call(client: Client, fake: FakeServer) -> None:
    run = fake.reserve("r", two_steps.definition)
    _, held = claimed(client, two_steps)
    fake.lose("/complete")

    done = client.complete("r", held.token, {"x": 1}, until=held.settling_ends)

    first, second = fake.said("/complete")
    assert done.status == "completed"
    assert run.output == {"x": 1}
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert first.body == second.body


def test_two_calls_have_two_keys(client: Client, fake: FakeServer) -> None:
    fake.reserve("r", two_steps.definition)
    _, held = claimed(client, two_steps)

    client.record_event("r", "seen", token=held.token)
    client.record_event("r", "seen", token=held.token)

    first, second = fake.said("/events")
    assert first.headers["Idempotency-Key"] != second.headers["Idempotency-Key"]


def test_the_token_travels_in_the_header_alone(client: Client, fake: FakeServer) -> None:
    client.list(workflow_name="none", status="queued")

    (call,) = fake.calls
    assert call.headers["Authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in call.path
    assert TOKEN not in json.dumps(call.params)


def test_trouble_ends_with_the_deadline(client: Client, fake: FakeServer, clock: FakeClock) -> None:
    fake.down = True
    end = clock.now + 20

    with pytest.raises(ServerAway):
        client.mark_running("r", "token", until=lambda: end)

    assert clock.now == pytest.approx(end)
    assert 5 <= len(fake.calls) <= 60


def test_a_renewed_lease_gives_a_call_more_time(client: Client, fake: FakeServer, clock: FakeClock) -> None:
    fake.reserve("r", two_steps.definition)
    _, held = claimed(client, two_steps)
    fake.down = True
    ends = iter([clock.now + 2, clock.now + 2, *[clock.now + 100] * 100])

    with pytest.raises(ServerAway):
        client.mark_running("r", held.token, until=lambda: next(ends, clock.now))

    assert clock.now > 1002


def test_nothing_is_sent_after_the_deadline(client: Client, fake: FakeServer, clock: FakeClock) -> None:
    with pytest.raises(ServerAway):
        client.park("r", "token", until=lambda: clock.now)

    assert fake.calls == []


def test_a_wait_that_the_server_asks_for_is_kept(client: Client, fake: FakeServer, clock: FakeClock) -> None:
    fake.reserve("r", two_steps.definition)
    busy = problem("busy", "retry", 503)
    busy.headers["Retry-After"] = "3"
    fake.answer("runs/r", busy)

    client.get("r")

    assert len(clock.slept) == 1
    assert clock.slept[0] >= 3


def test_a_faulty_server_is_asked_five_times(client: Client, fake: FakeServer) -> None:
    for _ in range(9):
        fake.answer("runs/r", problem("internal_error", "retry", 500))

    with pytest.raises(TryLater, match="internal_error"):
        client.get("r")

    assert len(fake.calls) == 5


@pytest.mark.parametrize("code", ["lease_held", "session_busy"])
def test_a_conflict_that_may_pass_is_an_answer_and_not_repeated(client: Client, fake: FakeServer, code: str) -> None:
    fake.answer("/claim", problem(code, "retry", 409))

    with pytest.raises(TryLater, match=code):
        client.claim("r", "host-test", "t" * 43)

    assert len(fake.calls) == 1


def test_claims_and_renewals_are_asked_for_once(client: Client, fake: FakeServer) -> None:
    fake.down = True

    with pytest.raises(ServerAway):
        client.claim_next("host-test", ["any"], ["t" * 43])
    with pytest.raises(ServerAway):
        client.renew_all([("r", "t" * 43)])

    assert len(fake.calls) == 2


@pytest.mark.parametrize(
    ("code", "action", "status", "kind"),
    [
        ("lease_lost", "stop", 409, LeaseLost),
        ("run_cancelled", "stop", 409, RunCancelled),
        ("run_finished", "stop", 409, RunFinished),
        ("run_paused", "stop", 409, RunPaused),
        ("invalid_request", "mend", 400, WrongInput),
        ("payload_too_large", "mend", 413, WrongInput),
        ("not_found", "stop", 404, ServerProblem),
        ("a_code_of_tomorrow", "stop", 409, ServerProblem),
    ],
)
def test_a_problem_is_raised_by_its_code(
    client: Client, fake: FakeServer, code: str, action: str, status: int, kind: type[ServerProblem]
) -> None:
    fake.answer("/park", problem(code, action, status))

    with pytest.raises(ServerProblem) as raised:
        client.park("r", "token")

    assert type(raised.value) is kind
    assert (raised.value.code, raised.value.action, raised.value.status) == (code, action, status)
    assert raised.value.detail == "so it is"
    assert len(fake.calls) == 1


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(200, content=b"<html>please log in</html>"),
        httpx.Response(200, json=[1]),
        httpx.Response(200, json={"run_id": "r"}),
        httpx.Response(502, content=b"bad gateway"),
    ],
)
def test_an_answer_that_is_not_the_apis_counts_as_no_answer(
    client: Client, fake: FakeServer, response: httpx.Response
) -> None:
    fake.reserve("r", two_steps.definition)
    for _ in range(50):
        fake.answer("runs/r", response)

    with pytest.raises(ServerAway):
        client.get("r")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"bytes"])
def test_what_json_cannot_hold_is_not_sent(client: Client, fake: FakeServer, value: Any) -> None:
    with pytest.raises(WrongInput, match="invalid_json"):
        client.complete("r", "token", value)

    assert fake.calls == []


def test_a_lease_is_counted_from_before_the_request(client: Client, fake: FakeServer, clock: FakeClock) -> None:
    fake.reserve("r", two_steps.definition)

    claim, _ = claimed(client, two_steps, lease_ms=30_000)

    assert claim.lease.ends == clock.now + 30
    assert claim.lease.renews == clock.now + 10


@pytest.mark.parametrize("url", ["", "ftp://queue", "queue:8000", "http://", "http://name:word@queue", "http://[::1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        Client(url, TOKEN)
