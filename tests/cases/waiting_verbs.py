"""The calls of control, sessions, people and messages, ready to be made, in the form of those in tests/api/verbs.py."""

from collections.abc import Callable
from itertools import count
from typing import Any

from runs.models import Project
from tests.api.effect_verbs import EFFECT_VERBS
from tests.api.people import CHOICES, SESSION, Waiting, asked, held, person, raised, validations
from tests.api.verbs import Call, Cast

Build = Callable[[Cast], Call]
_people = count(1)
QUESTION: dict[str, Any] = {
    "title": "Delete?",
    "subject": "Three files",
    "presentation": {"files": ["a"]},
    "choices": CHOICES,
    "users": ["ann"],
    "groups": ["operators"],
    "quorum": 1,
    "requested_by": "bob",
    "forbid_requester": True,
    "deadline_at": "2100-01-01T00:00:00Z",
    "default_response": {"choice": "no", "input": None},
}


def _held(path: str, **members: Any) -> Build:
    """By the holder of a running run with the open attempt `a1`."""

    def call(cast: Cast) -> Call:
        made = held(cast.client, cast.runner)
        return Call(cast.runner, "POST", f"{made.path}/{path}", {"token": made.token, **members})

    return call


def _outside(path: str, **members: Any) -> Build:
    """By an operator, about a run that is held."""

    def call(cast: Cast) -> Call:
        return Call(cast.operator, "POST", f"{held(cast.client, cast.runner).path}/{path}", members)

    return call


def _unpause(cast: Cast) -> Call:
    path = f"runs/{cast.client.reserve()}"
    assert cast.operator.post(f"{path}/pause", {}).status == 200
    return Call(cast.operator, "POST", f"{path}/unpause", {"reason": "It may go on."})


def _queued(path: str) -> Build:
    return lambda cast: Call(cast.operator, "POST", f"runs/{cast.client.reserve()}/{path}", {})


def _delete(cast: Cast) -> Call:
    made = held(cast.client, cast.runner)
    return Call(cast.operator, "POST", f"{made.path}/delete", {"token": made.token})


def _withdraw(cast: Cast) -> Call:
    made = held(cast.client, cast.runner)
    assert made.raise_request().status == 201
    return Call(cast.runner, "POST", f"{made.path}/requests/q1/withdraw", {"token": made.token})


def _submit(cast: Cast) -> Call:
    body = {"submission_id": "s1", "session_id": SESSION, "request_revision": 1, "payload": {"a": 1}}
    return Call(cast.client, "POST", f"{raised(cast.client, cast.runner).path}/requests/q1/submissions", body)


def _validate(cast: Cast) -> Call:
    raised(cast.client, cast.runner).submit(cast.client)
    body = {"owner_id": "host-a", "workflows": ["inventory"], "tokens": ["v" * 43]}
    return Call(cast.runner, "POST", "validations", body)


def _judged(verb: str, **members: Any) -> Build:
    def call(cast: Cast) -> Call:
        made = raised(cast.client, cast.runner)
        assert made.submit(cast.client).status == 201
        (token,), _ = validations(cast.runner)
        path = f"{made.path}/requests/q1/submissions/s1/{verb}"
        return Call(cast.runner, "POST", path, {"token": token, **members})

    return call


def _amend(cast: Cast) -> Call:
    made = held(cast.client, cast.runner)
    assert made.ask().status == 201
    return Call(cast.runner, "POST", f"{made.path}/decisions/d1/amend", {"token": made.token, **QUESTION})


def _answer(cast: Cast) -> Call:
    choices = [{"id": "yes", "label": "Delete them", "input_schema": {}, "editable": True}]
    path = f"{asked(cast.client, cast.runner, choices=choices).path}/decisions/d1"
    who = person(Project.objects.get(path="alpha"), f"person-{next(_people)}")
    digest = who.get(path).body["request_digest"]
    body = {"choice": "yes", "request_digest": digest, "input": {"a": 1}, "reason": "They are old.", "channel": "chat"}
    return Call(who, "POST", f"{path}/answer", body)


def _queue(cast: Cast) -> Waiting:
    made = held(cast.client, cast.runner)
    assert made.post("messages", message_id="m1", target_session_id=SESSION).status == 201
    return made


def _send(cast: Cast) -> Call:
    return Call(cast.client, "POST", f"{_queue(cast).path}/messages/m1/send", {"evidence": {"chat": 7}})


def _open_turn(cast: Cast) -> Call:
    call = _send(cast)
    assert call.send().status == 200
    return Call(cast.client, "POST", call.path.replace("/send", "/turns"), {"turn_id": "t1"})


def _end_turn(cast: Cast) -> Call:
    call = _open_turn(cast)
    assert call.send().status == 201
    path = call.path.split("/messages")[0]
    return Call(cast.client, "POST", f"{path}/turns/t1/end", {"stop_reason": "completed"})


_RAISED = {
    "request_id": "q1",
    "attempt_id": "a1",
    "target_session_id": SESSION,
    "kind": "agent",
    "contract": {"type": "text"},
}
_MESSAGE = {"message_id": "m1", "target_session_id": SESSION, "kind": "step", "content": {"text": "hello"}}

WAITING_VERBS: dict[str, Build] = {
    "pause": _outside("pause", reason="Not now."),
    "ask_to_pause": _outside("pause", reason="Not now.", grace_ms=10_000),
    "unpause": _unpause,
    "run_now": _queued("run-now"),
    "resume": _queued("resume"),
    "time_out": _held("time-out", error_message="Too long."),
    "delete": _delete,
    "raise_request": _held("requests", **_RAISED),
    "withdraw_request": _withdraw,
    "submit": _submit,
    "validate": _validate,
    "accept": _judged("accept", receipt={"note": "fine"}),
    "reject": _judged("reject", error_message="No.", receipt={"note": "wrong"}),
    "ask_decision": _held("decisions", decision_id="d1", attempt_id="a1", **QUESTION),
    "amend_decision": _amend,
    "answer_decision": _answer,
    "queue_message": _held("messages", **_MESSAGE),
    "send_message": _send,
    "open_turn": _open_turn,
    "end_turn": _end_turn,
}
# All that tests/api/verbs.py leaves out.
FURTHER_VERBS: dict[str, Build] = {**EFFECT_VERBS, **WAITING_VERBS}
