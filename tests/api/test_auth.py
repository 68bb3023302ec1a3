"""Who is let in: bearer tokens, their scopes, and the note of their use."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from runs import clock, transitions
from runs.models import AccessToken, Project
from runs.states import Scope
from runs.transitions import issue_access_token, revoke_access_token
from tests.api.cast import Caller
from tests.api.verbs import VERBS, Cast
from tests.builders import FrozenClock

READS = ["runs", "runs/run-x", "runs/run-x/events", "runs/run-x/attempts", "events", "session-reservation?session=s"]


def unusable(project: Project) -> dict[str, Caller]:
    """Callers whose tokens let them in no more, or never did."""
    expired = issue_access_token(project, "expired", [Scope.RUNS_READ], expires_at=clock.now())[1]
    revoked, secret = issue_access_token(project, "revoked", [Scope.RUNS_READ])
    revoke_access_token(revoked)
    return {
        "unknown": Caller("wq_" + "x" * 43),
        "expired": Caller(expired),
        "revoked": Caller(secret),
        "malformed": Caller("wq_short"),
        "of a lease": Caller("x" * 43),
        "empty": Caller(""),
        "with odd bytes": Caller("wq_\xff\x00"),
    }


def test_unusable_tokens_are_answered_all_alike(project: Project, nobody: Caller) -> None:
    replies = {name: caller.get("runs") for name, caller in unusable(project).items()} | {"none": nobody.get("runs")}

    assert {reply.problem for reply in replies.values()} == {(401, "unauthenticated")}
    assert len({reply.content for reply in replies.values()}) == 1
    assert {reply.headers["WWW-Authenticate"] for reply in replies.values()} == {"Bearer"}


@pytest.mark.parametrize("path", [*READS, "nowhere", "claims", "batch/complete"])
def test_nothing_is_told_to_who_has_no_token(nobody: Caller, path: str) -> None:
    assert nobody.get(path).problem == (401, "unauthenticated")
    assert nobody.post(path, {"run_id": "x"}).problem == (401, "unauthenticated")


@pytest.mark.parametrize("header", ["Token {}", "Basic {}", "{}", "Bearer", "Bearer {} {}", "Bearer,{}"])
def test_only_the_bearer_scheme_lets_in(client: Caller, nobody: Caller, header: str) -> None:
    header = header.format(client.secret, client.secret)

    assert nobody.get("runs", HTTP_AUTHORIZATION=header).problem == (401, "unauthenticated")


def test_the_schemes_name_may_be_written_in_any_case(client: Caller, nobody: Caller) -> None:
    assert nobody.get("runs", HTTP_AUTHORIZATION=f"bEARER {client.secret}").status == 200


@pytest.mark.parametrize("name", ["token", "access_token", "bearer", "key"])
def test_a_token_in_the_query_string_lets_nobody_in(client: Caller, nobody: Caller, name: str) -> None:
    assert nobody.get(f"runs?{name}={client.secret}").problem == (401, "unauthenticated")
    assert client.get(f"runs?{name}={client.secret}").problem == (400, "unknown_filter")


def test_a_session_of_the_console_lets_nobody_in(nobody: Caller) -> None:
    user = get_user_model().objects.create_superuser("root", password="a long enough one")
    nobody.http.force_login(user)

    assert nobody.get("runs").problem == (401, "unauthenticated")


def test_a_token_expires_at_its_very_moment(project: Project, frozen: FrozenClock) -> None:
    end = clock.now() + timedelta(hours=1)
    caller = Caller(issue_access_token(project, "an hour's", [Scope.RUNS_READ], expires_at=end)[1])

    frozen.set(end - timedelta(milliseconds=1))
    before = caller.get("runs")
    frozen.set(end)

    assert (before.status, caller.get("runs").status) == (200, 401)


@pytest.mark.parametrize("path", READS)
def test_reading_needs_its_scope(runner: Caller, path: str) -> None:
    reply = runner.get(path)

    assert reply.problem == (403, "scope_missing")
    assert reply.body["scope"] == "runs:read"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_needs_its_scope(cast: Cast, verb: str) -> None:
    call = VERBS[verb](cast)
    needed = {
        cast.client: "runs:write",
        cast.runner: "runs:execute",
        cast.operator: "runs:control",
    }[call.caller]
    others = {cast.client, cast.runner, cast.operator} - {call.caller}

    refused = [other.send(call.method, call.path, call.body) for other in others]

    assert [reply.problem for reply in refused] == [(403, "scope_missing")] * 2
    assert {reply.body["scope"] for reply in refused} == {needed}
    assert call.send().status in (200, 201)


def test_a_tokens_use_is_noted_once_a_minute(
    project: Project, client: Caller, frozen: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = clock.now()

    def used(after_ms: int) -> object:
        frozen.set(began + timedelta(milliseconds=after_ms))
        monkeypatch.setattr("api.auth.monotonic", lambda: 1_000_000 + after_ms / 1000)
        client.get("runs")
        return AccessToken.objects.get(project=project, name="client").last_used_at

    assert used(0) == began
    assert used(59_999) == began
    assert used(60_000) == began + timedelta(minutes=1)


def test_reading_waits_for_no_note_and_makes_few_statements(client: Caller) -> None:
    client.get("runs")

    with CaptureQueriesContext(connection) as captured:
        client.get(f"runs/{'x' * 20}")

    assert len(captured) == 2


def test_a_busy_database_keeps_a_use_from_being_noted_and_nothing_else(
    client: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(transitions, "stamp_use", busy)

    assert client.get("runs").status == 200


def test_a_refused_call_is_a_use_of_the_token_too(project: Project, runner: Caller) -> None:
    assert runner.get("runs").status == 403

    assert AccessToken.objects.get(project=project, name="runner").last_used_at is not None


def test_answers_are_stored_nowhere_on_the_way(client: Caller, nobody: Caller) -> None:
    replies = [client.get("runs"), client.get("runs/none"), client.get("nowhere"), nobody.get("runs")]

    assert {reply.headers["Cache-Control"] for reply in replies} == {"no-store"}
    assert {reply.headers["X-Content-Type-Options"] for reply in replies} == {"nosniff"}


def test_api_requests_need_no_csrf_token_since_they_carry_no_cookie(client: Caller, cast: Cast) -> None:
    strict = Caller(client.secret, http=type(client.http)(enforce_csrf_checks=True))

    assert strict.post("runs", VERBS["reserve"](cast).body).status == 201
