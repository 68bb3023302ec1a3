"""Decisions of people over the wire: who may answer, and what they are told."""

import hashlib
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs import canonical
from runs.models import AccessToken, Project
from runs.states import Scope
from tests.api.cast import Caller, caller, fresh_token
from tests.api.people import CHOICES, asked, held, person, rows
from tests.builders import FrozenClock


@pytest.fixture
def ann(project: Project) -> Caller:
    return person(project, "ann", "operators")


@pytest.fixture
def bob(project: Project) -> Caller:
    return person(project, "bob")


def test_a_decision_is_shown_answered_and_given_to_the_next_runner(
    client: Caller, runner: Caller, other_runner: Caller, ann: Caller
) -> None:
    waiting = asked(client, runner, presentation={"files": ["a", "b"]}, attempt_id="a1")
    shown = ann.get(f"{waiting.path}/decisions/d1").body
    assert (shown["status"], shown["attempt_id"], shown["request"]["presentation"]) == (
        "open", "a1", {"files": ["a", "b"]}
    )  # fmt: skip
    # Anybody can tell what the digest stands for.
    assert shown["request_digest"] == "sha256:" + hashlib.sha256(canonical.dumps(shown["request"])).hexdigest()

    answered = waiting.answer(ann, "yes", reason="They are old.")

    assert (answered.status, answered.body["answer"]["outcome"]) == (200, "counted")
    resolution = answered.body["decision"]["resolution"]
    assert (resolution["outcome"], resolution["provenance"], resolution["actor_id"], resolution["channel"]) == (
        "accepted", "human", "ann", "api"
    )  # fmt: skip
    assert resolution["request_digest"] == shown["request_digest"]
    token = fresh_token()
    claim = {"owner_id": "host-b", "workflows": ["inventory"], "tokens": [token]}
    (claimed,) = other_runner.post("claims", claim).body["claims"]
    assert claimed["run"]["run_id"] == waiting.run_id
    other_runner.post(f"{waiting.path}/running", {"token": token})
    body = {"token": token, "decision_id": "d1", "title": "Delete?", "choices": CHOICES, "attempt_id": "a1"}
    again = other_runner.post(f"{waiting.path}/decisions", {**body, "presentation": {"files": ["a", "b"]}})
    assert (again.status, again.body["resolution"]["response"]) == (200, {"choice": "yes", "input": None})
    assert other_runner.post(f"{waiting.path}/decisions", body).problem == (409, "decision_conflict")


def test_only_a_person_answers(project: Project, client: Caller, runner: Caller, bob: Caller) -> None:
    waiting = asked(client, runner)
    service = caller(project, Scope.RUNS_READ, name="service")
    # None is issued so; this one stands for whatever might have come about otherwise.
    AccessToken.objects.filter(name="service").update(scopes="decisions:answer runs:read")
    gone = person(project, "gone", is_active=False)
    before = rows()

    assert waiting.answer(service).problem == (403, "person_required")
    assert waiting.answer(gone).problem == (403, "person_required")
    assert waiting.answer(runner).problem == (403, "scope_missing")
    assert waiting.answer(client).problem == (403, "scope_missing")

    assert rows() == before
    User.objects.filter(username="bob").update(is_active=False)
    assert waiting.answer(bob).problem == (403, "person_required")


def test_only_the_audience_answers_and_not_who_asked(client: Caller, runner: Caller, ann: Caller, bob: Caller) -> None:
    waiting = asked(client, runner, groups=["operators"])
    own = asked(client, runner, requested_by="ann", forbid_requester=True)

    assert waiting.answer(bob).problem == (403, "not_in_audience")
    assert own.answer(ann).problem == (403, "own_request")
    assert waiting.answer(ann).status == own.answer(bob).status == 200


def test_too_late_is_recorded_and_told(
    client: Caller, runner: Caller, ann: Caller, bob: Caller, frozen: FrozenClock
) -> None:
    waiting = asked(client, runner, deadline_at="2026-12-01T04:01:00+01:00", default_response={"choice": "no"})
    frozen.advance(60_000)

    late = waiting.answer(ann, "yes", key="k1")

    assert late.problem == (409, "decision_expired")
    assert (late.body["action"], late.body["recorded"], late.body["answer"]["outcome"]) == ("stop", True, "late")
    assert (late.body["resolution"]["provenance"], late.body["resolution"]["response"]["choice"]) == ("policy", "no")
    replayed = waiting.answer(ann, "yes", key="k1")
    assert (replayed.problem, replayed.content) == ((409, "decision_expired"), late.content)
    assert waiting.answer(bob, "yes").problem == (409, "decision_expired")
    answers = client.get(f"{waiting.path}/decisions/d1/answers").body["results"]
    assert [(each["username"], each["outcome"]) for each in answers] == [("ann", "late"), ("bob", "late")]


def test_an_answer_after_another_is_told_how_it_was_resolved(
    client: Caller, runner: Caller, ann: Caller, bob: Caller
) -> None:
    waiting = asked(client, runner)
    waiting.answer(ann, "no")

    late = waiting.answer(bob, "yes")

    assert late.problem == (409, "decision_resolved")
    assert (late.body["resolution"]["actor_id"], late.body["resolution"]["response"]["choice"]) == ("ann", "no")
    assert waiting.answer(ann, "no").status == 200


def test_what_was_amended_is_answered_by_its_new_digest(client: Caller, runner: Caller, ann: Caller) -> None:
    waiting = held(client, runner)
    seen = waiting.ask().body["request_digest"]
    amended = waiting.post("decisions/d1/amend", title="Delete thirty?", choices=CHOICES)
    assert (amended.status, amended.body["request_revision"]) == (200, 2)
    path = f"{waiting.path}/decisions/d1/answer"

    outdated = ann.post(path, {"choice": "yes", "request_digest": seen})

    assert outdated.problem == (409, "decision_outdated")
    assert (outdated.body["revision"], outdated.body["request_digest"]) == (2, amended.body["request_digest"])
    assert ann.post(path, {"choice": "yes", "request_digest": outdated.body["request_digest"]}).status == 200


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"choice": "maybe"}, (400, "unknown_choice")),
        ({"choice": "yes", "input": 1}, (400, "invalid_input")),
        ({"choice": "yes", "request_digest": "no digest"}, (400, "invalid_digest")),
        ({"choice": 1}, (400, "invalid_request")),
        ({"choice": "yes", "more": 1}, (400, "invalid_request")),
        ({"choice": "yes", "reason": "x" * 8_193}, (400, "invalid_request")),
        ({"choice": "yes", "input": "x" * 70_000}, (413, "payload_too_large")),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(
    client: Caller, runner: Caller, ann: Caller, body: dict[str, Any], problem: tuple[int, str]
) -> None:
    waiting = asked(client, runner)
    before = rows()

    assert waiting.answer(ann, **body).problem == problem

    assert rows() == before


@pytest.mark.parametrize(
    "change",
    [
        {"choices": []},
        {"choices": [1]},
        {"choices": [None]},
        {"choices": [{"id": "x" * 201, "label": "x"}]},
        {"choices": [{"id": "a", "label": "a", "input_schema": {"$ref": "http://127.0.0.1/x"}}]},
        {"choices": [{"id": "a", "label": "a", "input_schema": None}]},
        {"deadline_at": "tomorrow"},
        {"deadline_at": "2026-12-01T03:00:00"},
        {"deadline_at": "0001-01-01T00:00:00+23:00"},
        {"deadline_at": 1},
        {"default_response": {"choice": "no"}},
        {"default_response": {"choice": ["no"]}, "deadline_at": "2099-01-01T00:00:00Z"},
        {"default_response": [], "deadline_at": "2099-01-01T00:00:00Z"},
        {"quorum": 0},
        {"users": "ann"},
        {"users": ["ann"], "quorum": 2},
        {"title": ""},
        {"title": "\x00"},
        {"forbid_requester": True},
        {"attempt_id": "not/an/id"},
    ],
)
def test_what_cant_be_decided_is_refused_and_not_a_fault(
    client: Caller, runner: Caller, change: dict[str, Any]
) -> None:
    waiting = held(client, runner)
    before = rows()

    assert waiting.ask(**change).status == 400

    assert rows() == before


def test_what_is_to_be_decided_comes_by_its_deadline(
    client: Caller, runner: Caller, ann: Caller, frozen: FrozenClock
) -> None:
    deadlines = {
        "never-1": None, "late": "2026-12-01T05:00:00Z", "soon": "2026-12-01T03:30:00Z", "never-2": None,
        "late-too": "2026-12-01T05:00:00Z", "made": "2026-12-01T03:10:00Z",
    }  # fmt: skip
    for name, deadline in deadlines.items():
        waiting = asked(client, runner, decision_id=name, deadline_at=deadline)
    waiting.answer(ann, decision_id="made")

    found, path = [], "decisions?status=open&limit=2"
    while path:
        page = client.get(path).body
        found += [each["decision_id"] for each in page["results"]]
        path = f"decisions?status=open&limit=2&cursor={page['next']}" if page["next"] else ""

    assert found == ["soon", "late", "late-too", "never-1", "never-2"]
    assert [each["decision_id"] for each in client.get("decisions?status=resolved").body["results"]] == ["made"]
    assert [each["decision_id"] for each in client.get("decisions").body["results"]] == [*deadlines]
    assert client.get(f"{waiting.path}/decisions?status=open").body["results"] == []
    assert client.get("decisions?status=closed").problem == (400, "invalid_request")
    assert client.get("decisions?status=open&cursor=abc").problem == (400, "invalid_cursor")
    assert (client.get(f"{waiting.path}/decisions/made").body["deadline_in_ms"]) is None


def test_a_deadline_is_carried_out_on_request(client: Caller, runner: Caller, frozen: FrozenClock) -> None:
    waiting = asked(client, runner, deadline_at="2026-12-01T03:01:00Z")
    path = f"{waiting.path}/decisions/d1"
    early = runner.post(f"{path}/expire", {})
    assert (early.problem, early.body["retry_in_ms"]) == ((409, "decision_not_due"), 60_000)
    assert runner.get(path).body["deadline_in_ms"] == 60_000
    frozen.advance(60_000)
    assert runner.get(path).body["deadline_in_ms"] == 0

    assert runner.post(f"{path}/expire", {}).body["resolution"]["outcome"] == "expired"


def test_nothing_of_another_project_is_found(
    other_project: Project, client: Caller, runner: Caller, stranger: Caller
) -> None:
    waiting = asked(client, runner)
    zoe = person(other_project, "zoe")
    before = rows()

    assert waiting.answer(zoe).problem == (404, "not_found")
    assert stranger.get(f"{waiting.path}/decisions/d1").problem == (404, "not_found")
    assert stranger.get("decisions?status=open").body["results"] == []

    assert rows() == before
