"""Requests, submissions, messages and turns over the wire."""

from typing import Any

import pytest

from runs import transitions
from runs.errors import LeaseHeld
from runs.models import Project
from runs.states import Scope
from tests.api.cast import Caller, caller
from tests.api.people import SESSION, held, raised, rows, validations


def test_a_request_is_answered_validated_and_given_to_the_runner(
    client: Caller, runner: Caller, other_runner: Caller
) -> None:
    waiting = raised(client, runner)
    seen = client.get(f"{waiting.path}/requests/q1").body
    assert (seen["status"], seen["revision"], seen["contract"], seen["accepted"], seen["validating"]) == (
        "pending", 1, {"type": "text"}, None, None
    )  # fmt: skip
    taken = waiting.submit(client)
    assert (taken.status, taken.body["outcome"], taken.body["receipt"]) == (201, "validating", None)

    (token,), found = validations(other_runner)

    (claim,) = found.body["claims"]
    assert (claim["slot"], claim["run"]["run_id"], claim["run"]["status"]) == (0, waiting.run_id, "waiting")
    (request,) = claim["requests"]
    assert (request["request_id"], request["validating"]["payload"]) == ("q1", "an answer")
    accept = f"{waiting.path}/requests/q1/submissions/s1/accept"
    accepted = other_runner.post(accept, {"token": token, "receipt": {"note": "fine"}})
    assert (accepted.status, accepted.body["receipt"]) == (200, {"note": "fine", "status": "accepted"})
    assert other_runner.post(f"{waiting.path}/running", {"token": token}).body["status"] == "running"
    again = other_runner.post(
        f"{waiting.path}/requests",
        {
            "token": token, "request_id": "q1", "attempt_id": "a1", "target_session_id": SESSION,
            "contract": {"type": "text"},
        },
    )  # fmt: skip
    assert (again.status, again.body["status"], again.body["accepted"]["payload"]) == (200, "settled", "an answer")
    repeat = waiting.submit(client)
    assert (repeat.status, repeat.body["receipt"]["status"]) == (200, "accepted")


def test_a_rejected_submission_says_why_and_the_next_one_is_taken(client: Caller, runner: Caller) -> None:
    waiting = raised(client, runner)
    waiting.submit(client)
    (token,), _ = validations(runner)

    path = f"{waiting.path}/requests/q1/submissions/s1"
    rejected = runner.post(f"{path}/reject", {"token": token, "error_message": "Not a number."})

    assert rejected.body["receipt"] == {"status": "rejected", "error": "Not a number."}
    assert runner.post(f"{path}/accept", {"token": token}).problem == (409, "submission_settled")
    assert waiting.submit(client, "s2").status == 201
    listed = client.get(f"{waiting.path}/requests/q1/submissions?limit=1").body
    assert [each["submission_id"] for each in listed["results"]] == ["s1"]
    following = client.get(f"{waiting.path}/requests/q1/submissions?cursor={listed['next']}").body
    assert [each["outcome"] for each in following["results"]] == ["validating"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"request_revision": 2}, (409, "request_outdated")),
        ({"session_id": "another"}, (409, "wrong_session")),
        ({"submission_id": "s1", "payload": "another answer"}, (409, "submission_conflict")),
        ({}, (409, "submission_validating")),
        ({"request_revision": "1"}, (400, "invalid_request")),
        ({"submission_id": ""}, (400, "invalid_request")),
        ({"more": 1}, (400, "invalid_request")),
    ],
)
def test_a_submission_that_does_not_fit_is_refused(
    client: Caller, runner: Caller, change: dict[str, Any], problem: tuple[int, str]
) -> None:
    waiting = raised(client, runner)
    waiting.submit(client)
    before = rows()

    assert waiting.submit(client, **{"submission_id": "s2", **change}).problem == problem

    assert rows() == before


def test_a_submission_without_a_request_is_at_no_address(client: Caller, runner: Caller) -> None:
    waiting = raised(client, runner)
    body = {"submission_id": "s1", "session_id": SESSION, "request_revision": 1}

    for path in ("requests/submissions", "requests//submissions", "requests/q2/submissions"):
        assert client.post(f"{waiting.path}/{path}", body).problem[0] in (404, 405)


def test_a_request_is_withdrawn_by_its_holder(client: Caller, runner: Caller) -> None:
    waiting = held(client, runner)
    waiting.raise_request()

    withdrawn = waiting.post("requests/q1/withdraw")

    assert (withdrawn.status, withdrawn.body["status"]) == (200, "cancelled")
    assert waiting.submit(client).problem == (409, "request_settled")
    assert [each["status"] for each in client.get(f"{waiting.path}/requests").body["results"]] == ["cancelled"]
    assert client.get(f"{waiting.path}/requests?status=pending").body["results"] == []


def test_validations_are_claimed_by_as_many_as_there_are(
    client: Caller, runner: Caller, other_runner: Caller, project: Project
) -> None:
    runs = [raised(client, runner) for _ in range(3)]
    for waiting in runs:
        waiting.submit(client)
    client.reserve()

    tokens, first = validations(runner, 2)
    _, second = validations(other_runner, 5)
    again = runner.post("validations", {"owner_id": "host-a", "workflows": ["inventory"], "tokens": tokens})

    order = [waiting.run_id for waiting in runs]
    assert [claim["run"]["run_id"] for claim in first.body["claims"]] == order[:2]
    assert [claim["run"]["run_id"] for claim in second.body["claims"]] == order[2:]
    assert [claim["run"]["run_id"] for claim in again.body["claims"]] == order[:2]
    assert [claim["run"]["lease"]["generation"] for claim in again.body["claims"]] == [2, 2]


def test_whoever_loses_the_race_for_a_validation_gets_fewer(
    client: Caller, runner: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = raised(client, runner)
    waiting.submit(client)

    def taken(*args: object) -> None:
        raise LeaseHeld

    monkeypatch.setattr(transitions, "claim_for_validation", taken)

    assert validations(runner)[1].body["claims"] == []


@pytest.mark.parametrize("change", [{"workflows": ["other"]}, {"exclude": True}, {"paused": True}])
def test_validations_pass_over_what_was_not_asked_for(
    client: Caller, runner: Caller, operator: Caller, change: dict[str, Any]
) -> None:
    waiting = raised(client, runner)
    waiting.submit(client)
    if change.pop("paused", False):
        assert operator.post(f"{waiting.path}/pause", {}).status == 200
    if change.pop("exclude", False):
        change = {"exclude_run_ids": [waiting.run_id]}

    assert validations(runner, **change)[1].body["claims"] == []


def test_messages_are_queued_sent_and_taken_in_turns(client: Caller, runner: Caller) -> None:
    waiting = held(client, runner)
    body = {"message_id": "m1", "target_session_id": SESSION, "content": {"text": "hello"}}

    queued, again = waiting.post("messages", **body), waiting.post("messages", **body)
    waiting.post("messages", **{**body, "message_id": "m2", "kind": "terminal"})

    assert (queued.status, again.status, queued.body["order"], queued.body["kind"]) == (201, 200, 1, "step")
    pending = client.get(f"messages?session={SESSION.replace(' ', '%20')}&status=pending&limit=1").body
    assert ([each["message_id"] for each in pending["results"]], pending["next_after_order"]) == (["m1"], 1)
    rest = client.get(f"messages?session={SESSION.replace(' ', '%20')}&after_order=1").body
    assert [each["message_id"] for each in rest["results"]] == ["m2"]
    sent = client.post(f"{waiting.path}/messages/m1/send", {"evidence": {"chat": 7}})
    assert (sent.status, sent.body["status"], sent.body["evidence"]) == (200, "sent", {"chat": 7})
    assert client.post(f"{waiting.path}/messages/m1/send", {}).problem == (409, "message_settled")
    opened = client.post(f"{waiting.path}/messages/m1/turns", {"turn_id": "t1"})
    assert (opened.status, opened.body["stop_reason"]) == (201, None)
    assert client.post(f"{waiting.path}/messages/m1/turns", {"turn_id": "t2"}).problem == (409, "turn_open")
    ended = client.post(f"{waiting.path}/turns/t1/end", {"stop_reason": "completed"})
    assert (ended.status, ended.body["stop_reason"]) == (200, "completed")
    assert [each["turn_id"] for each in client.get(f"{waiting.path}/turns").body["results"]] == ["t1"]
    assert [each["status"] for each in client.get(f"{waiting.path}/messages").body["results"]] == ["sent", "pending"]


def test_a_sessions_messages_need_a_session(client: Caller) -> None:
    assert client.get("messages").problem == (400, "invalid_request")
    assert client.get("messages?session=s&status=lost").problem == (400, "invalid_request")


def test_each_verb_has_its_scope(project: Project, client: Caller, runner: Caller) -> None:
    waiting = raised(client, runner)
    reader = caller(project, Scope.RUNS_READ, name="reader")
    control = caller(project, Scope.RUNS_CONTROL, name="control")

    assert waiting.submit(runner).problem == waiting.submit(reader).problem == (403, "scope_missing")
    assert client.post(f"{waiting.path}/requests", {}).problem == (403, "scope_missing")
    for path in (f"{waiting.path}/requests/q1", "messages?session=s"):
        assert runner.get(path).status == reader.get(path).status == 200
        assert control.get(path).problem == (403, "scope_missing")
    for path in ("messages/m1/send", "messages/m1/turns", "turns/t1/end"):
        assert reader.post(f"{waiting.path}/{path}", {}).problem == (403, "scope_missing")
    assert client.post("validations", {}).problem == (403, "scope_missing")


def test_nothing_of_another_project_is_found(client: Caller, runner: Caller, stranger: Caller) -> None:
    waiting = raised(client, runner)
    waiting.submit(client)
    before = rows()

    assert stranger.get(f"{waiting.path}/requests/q1").problem == (404, "not_found")
    assert stranger.get(f"messages?session={SESSION.replace(' ', '%20')}").body["results"] == []
    assert waiting.submit(stranger, "s2").problem == (404, "not_found")

    assert rows() == before
    assert validations(stranger)[1].body["claims"] == []


def test_a_submission_with_a_key_is_answered_from_its_receipt(client: Caller, runner: Caller) -> None:
    waiting = raised(client, runner)
    body = {"submission_id": "s1", "session_id": SESSION, "request_revision": 1, "payload": 10**30}
    path = f"{waiting.path}/requests/q1/submissions"

    first, again = (client.post(path, body, key="k1") for _ in range(2))

    assert (first.status, again.status, again.headers["Idempotency-Replayed"]) == (201, 201, "true")
    assert first.content == again.content
