"""API-1 to API-6 for the addresses of effects, control, sessions, people and messages."""

from typing import Any, Final
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.api.cast import Caller, Reply
from tests.api.effect_verbs import MAIL
from tests.api.people import SESSION, Waiting, asked, held, raised
from tests.api.test_bad_input import picture
from tests.api.test_queries import ODD
from tests.api.verbs import Call, Cast
from tests.cases.waiting_verbs import FURTHER_VERBS

# Lists with pages, of a run that has one of everything.
LISTS: Final = {
    "effects": "{}/effects",
    "effects in doubt": "effects",
    "requests": "{}/requests",
    "submissions": "{}/requests/q1/submissions",
    "decisions": "{}/decisions",
    "open decisions": "decisions",
    "answers": "{}/decisions/d1/answers",
    "messages": "{}/messages",
    "messages of a session": "messages",
    "turns": "{}/turns",
    "late results": "{}/late-results",
}
ONE: Final = ["{}/requests/q1", "{}/decisions/d1", "{}/effects/none"]


@pytest.fixture
def rich(client: Caller, runner: Caller) -> Waiting:
    """A run with an attempt, an effect, a message, a decision and a request."""
    made = held(client, runner)
    assert made.post("effects", **MAIL).status == 201
    assert made.post("messages", message_id="m1", target_session_id=SESSION).status == 201
    assert made.ask().status == 201
    made.park()
    return made


def address(made: Waiting, path: str) -> str:
    """The list's address with what it cannot do without."""
    session = f"?session={quote(SESSION)}" if path == "messages" else "?"
    return path.format(made.path) + session


@pytest.fixture(params=LISTS)
def listed(request: pytest.FixtureRequest, client: Caller, runner: Caller) -> str:
    """Each list, ready for one more parameter."""
    made = asked(client, runner) if "decisions" in request.param else raised(client, runner)
    if request.param == "answers":
        made = asked(client, runner)
    base = address(made, LISTS[request.param])
    return base if base.endswith("?") else base + "&"


@pytest.mark.parametrize(("limit", "used"), [(None, 50), ("1", 1), ("200", 200), ("201", 200), ("1000000000", 200)])
def test_every_list_shows_the_size_used_up_to_the_cap(
    client: Caller, listed: str, limit: str | None, used: int
) -> None:
    """API-4."""
    path = listed.rstrip("?&") if limit is None else f"{listed}limit={limit}"

    assert client.get(path).body["limit"] == used


@pytest.mark.parametrize("limit", ["0", "-1", "all", "", "1.0", "%D9%A3"])
def test_a_senseless_page_size_is_refused_by_every_list(client: Caller, listed: str, limit: str) -> None:
    """API-4."""
    reply = client.get(f"{listed}limit={limit}")

    assert (reply.problem, list(reply.body["errors"])) == ((400, "invalid_request"), ["limit"])


def test_odd_bytes_bring_no_list_down(client: Caller, listed: str) -> None:
    """API-3: as name and as value, of every parameter; twice; very long; very many."""
    for odd in [*ODD, "x" * 10_000]:
        for name in ("status", "cursor", "after_order", "limit", "session", odd):
            assert client.get(f"{listed}{name}={odd}").problem[0] in (400, 404), (name, odd)
    assert client.get(f"{listed}=1").problem[0] == 400
    assert client.get(f"{listed}limit=1&limit=1").problem[0] == 400
    assert client.get(listed + "&".join(f"p{number}=1" for number in range(5_000))).problem[0] == 400


@pytest.mark.parametrize("odd", [*ODD, "x" * 10_000, "x" * 201])
@pytest.mark.parametrize("part", ["requests/{}", "requests/{}/submissions", "requests/q1/submissions/{}/accept",
                                  "decisions/{}", "decisions/{}/answers", "effects/{}", "effects/{}/start",
                                  "messages/{}/send", "turns/{}/end"])  # fmt: skip
def test_odd_bytes_in_an_address_are_an_address_of_nothing(cast: Cast, odd: str, part: str) -> None:
    """API-3."""
    path = f"runs/{cast.client.reserve()}/{part.format(odd)}"

    for method in ("GET", "POST"):
        assert cast.runner.send(method, path, {}).status in (403, 404, 405), method
        assert cast.client.send(method, path, {}).status in (403, 404, 405), method


OWNED: Final[dict[str, Any]] = {
    "status": "completed", "generation": 99, "revision": 99, "project": "beta", "created_by": "somebody",
    "root_run_id": "run-x", "restart_number": 7, "finished_at": "2000-01-01T00:00:00Z", "owner_id": "host-z",
    "token_hash": "x" * 64, "available_at": "2000-01-01T00:00:00Z", "id": 1, "outside_key": "x", "order": 1,
    "actor_id": "somebody", "outcome": "accepted", "provenance": "policy",
}  # fmt: skip


@pytest.mark.parametrize("verb", sorted(FURTHER_VERBS))
def test_what_only_the_server_sets_is_refused_by_name_in_every_body(cast: Cast, verb: str) -> None:
    """API-2."""
    call: Call = FURTHER_VERBS[verb](cast)
    before = picture()

    for name, value in OWNED.items():
        if name not in call.body:
            reply = call.send({**call.body, name: value})
            assert (reply.problem, list(reply.body["errors"])) == ((400, "invalid_request"), [name])

    assert picture() == before


@pytest.mark.parametrize("path", [*LISTS.values(), *ONE])
def test_another_projects_rows_read_like_none_alone_and_through_ones_own_run(
    client: Caller, rich: Waiting, stranger: Caller, path: str
) -> None:
    """API-1: with the other's run; and with the other's id below a run of one's own."""
    own = Waiting(stranger, stranger.reserve(), "")
    never = Waiting(stranger, "never-reserved", "")
    assert client.get(address(rich, path)).status in (200, 404)

    theirs, none = stranger.get(address(rich, path)), stranger.get(address(never, path))
    through = stranger.get(address(own, path))

    assert theirs.content.replace(rich.run_id.encode(), never.run_id.encode()) == none.content
    assert (none.status, none.body.get("results", [])) == (404 if "{}" in path else 200, [])
    assert through.problem == (404, "not_found") if through.status != 200 else through.body["results"] == []


@pytest.mark.parametrize("verb", sorted(verb for verb in FURTHER_VERBS if verb != "validate"))
def test_another_projects_run_is_written_like_one_that_never_was(cast: Cast, stranger: Caller, verb: str) -> None:
    """API-1."""
    call: Call = FURTHER_VERBS[verb](cast)
    run_id, own = call.path.split("/")[1], stranger.reserve()
    before = picture()

    def sent(to: str) -> Reply:
        return stranger.send(call.method, call.path.replace(run_id, to, 1), call.body)

    theirs, never = sent(run_id), sent("never-reserved")

    assert theirs.status == never.status >= 400
    assert theirs.content.replace(run_id.encode(), b"never-reserved") == never.content
    assert picture() == before
    if len(call.path.split("/")) > 4:
        assert sent(own).problem[0] in (403, 404, 409)
    assert call.send().status in (200, 201)


@pytest.mark.parametrize("name", ["workflow_name", "origin_session_id", "error_code", "owner_id", "run_id_prefix"])
def test_a_filter_by_text_reads_no_whole_table(client: Caller, name: str) -> None:
    """API-5: however many runs there are, what matches nothing is found out by an index."""
    client.reserve()
    with CaptureQueriesContext(connection) as asked_for:
        assert client.get(f"runs?{name}={quote('(a+)+$')}").body["results"] == []
    statements = [each["sql"] for each in asked_for if 'FROM "runs_run"' in each["sql"]]

    with connection.cursor() as cursor:
        for sql in statements:
            explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
            if connection.vendor == "postgresql":
                # So few rows are read whole unless that is forbidden.
                cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"{explain} {sql.replace('%', '%%')}")
            plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
            assert not {"SCAN runs_run", "Seq Scan on runs_run", "SCAN runs_lease"} & set(plan.split("\n")), plan
            assert "Seq Scan" not in plan, plan
