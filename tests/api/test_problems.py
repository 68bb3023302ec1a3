"""Every answer that is no success is a problem document, whatever went wrong."""

import logging
import sqlite3
from collections.abc import Callable

import psycopg
import pytest
from django.db import DataError, InterfaceError, OperationalError, ProgrammingError
from psycopg_pool import PoolTimeout

from api import errors as wire
from api import problems
from runs import errors, reading, transitions
from tests.api.cast import Caller, reservation

MEMBERS = {"type", "title", "status", "detail", "code", "action"}


def every_refusal(kind: type[errors.Refusal] = errors.Refusal) -> list[type[errors.Refusal]]:
    return [kind, *(inner for child in kind.__subclasses__() for inner in every_refusal(child))]


@pytest.mark.parametrize(
    "path",
    ["", "nowhere", "runs/", "runs/x/nothing", "runs/x/y/z", "claims/", "%0A", "runs/%0A", "runs/a%0A", "runs/-x",
     "runs/x%20y", "runs/%C3%A9", "runs/" + "x" * 201, "..%2F"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_stands_at_other_addresses(client: Caller, method: str, path: str) -> None:
    assert client.send(method, path).problem == (404, "not_found")


@pytest.mark.parametrize("path", ["/api/", "/api/v1", "/api/v2/runs", "/api/v1/", "/api/%0A"])
def test_nothing_stands_beside_this_version(client: Caller, nobody: Caller, path: str) -> None:
    assert client.get(path).problem == (404, "not_found")
    assert nobody.get(path).problem == (401, "unauthenticated")


@pytest.mark.parametrize("odd", ["%00", "%ff", "%ed%a0%80", "%c0%af", "a%00b", "a%2Fb", "%2e%2e", "%25", "a%ffb"])
@pytest.mark.parametrize("path", ["runs/{}", "runs/{}/complete", "runs/run-x/attempts/{}/complete", "{}"])
def test_odd_bytes_in_an_address_are_an_address_of_nothing(client: Caller, path: str, odd: str) -> None:
    for method in ("GET", "POST"):
        reply = client.send(method, path.format(odd))
        assert reply.problem == (404, "not_found"), reply.content


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("DELETE", "runs", "GET, POST"), ("GET", "claims", "POST"), ("PATCH", "runs/run-x", "GET, PUT"),
     ("TRACE", "events", "GET"), ("BREW", "events", "GET"), ("OPTIONS", "runs", "GET, POST"), ("get", "events", "GET")],
)  # fmt: skip
def test_an_address_names_the_methods_that_it_takes(client: Caller, method: str, path: str, allowed: str) -> None:
    reply = client.send(method, path)

    if method == "get":
        assert reply.status == 200
        return
    assert reply.problem == (405, "method_not_allowed")
    named = {name.strip() for name in reply.headers["Allow"].split(",")} - {"HEAD", "OPTIONS"}
    assert named == set(allowed.split(", "))


@pytest.mark.parametrize("accept", ["text/html", "text/html,application/xhtml+xml;q=0.9", "image/png", "", "*/*", "x"])
def test_answers_are_json_whatever_a_browser_asks_for(client: Caller, accept: str) -> None:
    client.reserve(input="<script>alert(1)</script>", run_id="run-html")

    for path in ("runs", "runs/run-html", "runs?format=api", "runs/none"):
        reply = client.get(path, HTTP_ACCEPT=accept)
        assert reply.headers["Content-Type"] in ("application/json", "application/problem+json")
        assert reply.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("kind", every_refusal(), ids=lambda kind: kind.__name__)
def test_every_refusal_of_the_queue_becomes_a_problem_with_all_members(kind: type[errors.Refusal]) -> None:
    arguments: dict[type[errors.Refusal], Callable[[], errors.Refusal]] = {
        errors.InvalidDocument: lambda: errors.InvalidDocument("x", code="too_deep", place=""),
        wire.InvalidRequest: lambda: wire.InvalidRequest({"run_id": ["x"]}),
        wire.PayloadTooLarge: lambda: wire.PayloadTooLarge(1),
    }
    refusal = arguments.get(kind, kind)()

    document = problems.problem(refusal)

    assert set(document) >= MEMBERS
    assert document["type"] == f"urn:workflowq:problem:{refusal.code}"
    assert (document["code"], document["action"]) == (refusal.code, refusal.action)
    assert document["detail"]
    assert 400 <= document["status"] < 600
    assert problems.ProblemAnswer(refusal).has_header("Retry-After") == (refusal.action is errors.Action.RETRY)


def test_the_catalogue_has_every_code_that_a_refusal_has() -> None:
    listed = problems.catalogue()
    general = {errors.Refusal, errors.Conflict, errors.Forbidden, errors.InvalidDocument}

    for kind in every_refusal():
        if kind not in general and not kind.__module__.startswith("tests."):
            assert kind.code in listed, kind
    assert {"invalid_json", "invalid_text", "invalid_number", "too_deep", "payload_too_large"} <= set(listed)
    for status, action, sentence in listed.values():
        assert (400 <= status < 600, bool(action), bool(sentence)) == (True, True, True)


def test_facts_never_hide_a_standard_member() -> None:
    facts = dict.fromkeys(MEMBERS, "x")

    document = problems.problem(errors.RunFinished(**facts))

    assert (document["status"], document["code"], document["run_status"]) == (409, "run_finished", "x")
    assert problems.problem(errors.AttemptSettled(status="failed"))["attempt_status"] == "failed"


def test_a_fault_of_the_servers_own_says_nothing_of_itself_and_is_logged(
    client: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("the inner works")

    monkeypatch.setattr(reading, "run", broken)

    with caplog.at_level(logging.ERROR, "api"):
        reply = client.get("runs/run-x")

    assert reply.problem == (500, "internal_error")
    assert b"inner works" not in reply.content
    assert "the inner works" in caplog.text
    assert reply.headers["Cache-Control"] == "no-store"


def raised_from(error: Exception, cause: Exception | None) -> Exception:
    error.__cause__ = cause
    return error


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("x")
    error.sqlite_errorcode = code
    return error


AWAY = {
    "pool": raised_from(OperationalError("couldn't get a connection"), PoolTimeout("x")),
    "gone": raised_from(OperationalError("server closed the connection"), psycopg.OperationalError("x")),
    "closed": raised_from(InterfaceError("connection already closed"), psycopg.InterfaceError("x")),
    "SQLITE_BUSY": raised_from(OperationalError("database is locked"), sqlite_error(5)),
    "SQLITE_BUSY_SNAPSHOT": raised_from(OperationalError("database is locked"), sqlite_error(517)),
    "SQLITE_FULL": raised_from(OperationalError("disk full"), sqlite_error(13)),
    "gate": OperationalError("database is locked: other writers kept the gate shut"),
}
FAULTY = {
    "SQLITE_ERROR": raised_from(OperationalError("no such column"), sqlite_error(1)),
    "data": raised_from(DataError("value too long"), psycopg.DataError("x")),
    "programming": raised_from(ProgrammingError("no such table"), psycopg.ProgrammingError("x")),
}


@pytest.mark.parametrize("error", AWAY.values(), ids=AWAY)
def test_a_database_that_is_away_means_try_again(
    client: Caller, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def away(*_: object) -> None:
        raise error

    monkeypatch.setattr(transitions, "reserve", away)

    reply = client.post("runs", reservation(), key="one")

    assert (reply.problem, reply.body["action"], reply.headers["Retry-After"]) == ((503, "busy"), "retry", "1")
    monkeypatch.undo()
    assert client.post("runs", reservation(), key="one").status == 201


@pytest.mark.parametrize("error", FAULTY.values(), ids=FAULTY)
def test_a_senseless_statement_is_a_fault_and_not_business(error: Exception) -> None:
    assert isinstance(problems.as_refusal(error), wire.InternalError)


def test_a_busy_queue_means_try_again(client: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise errors.Busy

    monkeypatch.setattr(transitions, "reserve", busy)

    assert client.post("runs", reservation()).problem == (503, "busy")
