"""Lists: newest first, by cursor, bounded, filtered by literal values."""

from datetime import timedelta
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs.models import Event, Run
from tests.api.cast import Caller
from tests.builders import FrozenClock


def ids(caller: Caller, query: str = "") -> list[str]:
    reply = caller.get(f"runs{query}")
    assert reply.status == 200, reply.content
    return [run["run_id"] for run in reply.body["results"]]


def reserved(caller: Caller, number: int, **changes: object) -> list[str]:
    """Ids of so many runs, oldest first."""
    return [caller.reserve(**changes) for _ in range(number)]


def test_a_list_pages_through_all_runs_newest_first_and_ends(client: Caller, frozen: FrozenClock) -> None:
    made = reserved(client, 3)
    frozen.advance(1)
    made += reserved(client, 4)

    seen, cursor = [], ""
    while True:
        page = client.get(f"runs?limit=2{cursor}").body
        seen += [run["run_id"] for run in page["results"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"

    assert seen == made[::-1]
    assert page["limit"] == 2


def test_a_run_made_while_paging_moves_no_page(client: Caller) -> None:
    made = reserved(client, 4)
    first = client.get("runs?limit=2").body
    client.reserve()

    second = client.get(f"runs?limit=2&cursor={first['next']}").body

    assert [run["run_id"] for run in second["results"]] == made[1::-1]


@pytest.mark.parametrize("path", ["runs", "events", "runs/{}/events", "runs/{}/attempts"])
@pytest.mark.parametrize(
    ("limit", "used"), [(None, 50), ("1", 1), ("200", 200), ("201", 200), ("1000000000", 200), ("9" * 1_999, 200)]
)
def test_every_page_shows_the_size_used_up_to_the_cap(client: Caller, path: str, limit: str | None, used: int) -> None:
    path = path.format(client.reserve())

    assert client.get(path if limit is None else f"{path}?limit={limit}").body["limit"] == used


@pytest.mark.parametrize("path", ["runs", "events", "runs/{}/events", "runs/{}/attempts"])
@pytest.mark.parametrize("limit", ["0", "-1", "10**9", "all", "", "1.0", "1e3", "%201", "%D9%A3", "0x10", "null"])
def test_a_senseless_page_size_is_refused(client: Caller, path: str, limit: str) -> None:
    reply = client.get(f"{path.format(client.reserve())}?limit={limit}")

    assert reply.problem == (400, "invalid_request")
    assert list(reply.body["errors"]) == ["limit"]


@pytest.mark.parametrize("path", ["runs", "events", "runs/{}/attempts"])
@pytest.mark.parametrize(
    "cursor", ["x", "cg", "A" * 28, "A" * 32, "A" * 1_000, "!!!!", "%20", "é".encode().hex(), "%C3%A9", "....", "==="]
)
def test_a_cursor_that_was_not_given_out_is_refused(client: Caller, path: str, cursor: str) -> None:
    assert client.get(f"{path.format(client.reserve())}?cursor={cursor}").problem == (400, "invalid_cursor")


def test_a_cursor_of_another_list_is_refused(client: Caller) -> None:
    reserved(client, 2)
    of_runs = client.get("runs?limit=1").body["next"]
    of_feed = client.get("events?limit=1").body["next"]

    assert client.get(f"events?cursor={of_runs}").problem == (400, "invalid_cursor")
    assert client.get(f"runs?cursor={of_feed}").problem == (400, "invalid_cursor")
    assert client.get(f"runs?cursor={of_runs[:-1]}{'B' if of_runs[-1] == 'A' else 'A'}").problem[0] == 400


def test_runs_are_filtered_by_each_of_their_filters(client: Caller, runner: Caller) -> None:
    plain = client.reserve(run_id="plain-1", origin_session_id="desk")
    named = client.reserve(run_id="Named-1", workflow_name="other", execution_mode="headless")
    held = client.reserve(run_id="held-1")
    runner.run(held)
    failed = client.reserve(run_id="failed-1")
    body = {"token": runner.run(failed), "error_code": "broken", "error_message": ""}
    runner.post(f"runs/{failed}/fail", body)

    assert ids(client, "?status=queued") == [named, plain]
    assert ids(client, "?status=queued,failed") == [failed, named, plain]
    assert ids(client, "?queue_status=running") == [held]
    assert ids(client, "?workflow_name=other") == [named]
    assert ids(client, "?workflow_name=nowhere") == []
    assert ids(client, "?origin_session_id=desk") == [plain]
    assert ids(client, "?execution_mode=headless") == [named]
    assert ids(client, "?error_code=broken") == [failed]
    assert ids(client, "?owner_id=host-a") == [held]
    assert ids(client, "?run_id_prefix=plain") == [plain]
    assert ids(client, "?run_id_prefix=held-1&owner_id=host-b") == []


def test_a_prefix_is_taken_to_the_letter(client: Caller) -> None:
    for run_id in ("Order-7", "order-7", "order-70", "order_7", "orderX7", "zz"):
        client.reserve(run_id=run_id)

    assert ids(client, "?run_id_prefix=order-7") == ["order-70", "order-7"]
    assert ids(client, "?run_id_prefix=Order") == ["Order-7"]
    assert ids(client, "?run_id_prefix=order_") == ["order_7"]
    assert ids(client, "?run_id_prefix=zz") == ["zz"]
    for pattern in ("%", "_", "order%", "o*", "order.7", "(o+)+$", ".*", "\\", "'", '"', ";", "é", "\U0010ffff"):
        assert ids(client, f"?run_id_prefix={quote(pattern)}") == [], pattern


@pytest.mark.parametrize("name", ["workflow_name", "origin_session_id", "error_code", "owner_id", "run_id_prefix"])
@pytest.mark.parametrize("text", ["(a+)+$", ".*", "%", "_%_%_%_%", "\\", "' OR 1=1 --", "a;b", "x" * 2_000, "run "])
def test_text_is_never_a_pattern(client: Caller, name: str, text: str) -> None:
    client.reserve()

    assert ids(client, f"?{name}={quote(text)}") == []


def test_outer_blanks_are_part_of_a_filters_text(client: Caller) -> None:
    client.reserve(origin_session_id="Order-7")

    assert ids(client, "?origin_session_id=Order-7%20") == []
    assert ids(client, "?origin_session_id=%20Order-7") == []
    assert ids(client, "?origin_session_id=order-7") == []


def test_times_are_compared_as_moments_whatever_their_offset(client: Caller, frozen: FrozenClock) -> None:
    early = client.reserve()
    frozen.advance(1_000)
    late = client.reserve()

    # The clock began at 03:00 UTC.
    for between in ("2026-12-01T03:00:00.500Z", "2026-12-01T08:30:00.500%2B05:30", "2026-12-01T08:30:00.500+05:30",
                    "2026-11-30T22:00:00.500-05:00", "2026-12-01T08:30:00.500+0530"):  # fmt: skip
        assert ids(client, f"?created_after={between}") == [late], between
        assert ids(client, f"?created_before={between}") == [early], between
    assert ids(client, "?created_after=2026-12-01T03:00:00Z") == [late]
    assert ids(client, "?created_before=2026-12-01T03:00:01Z") == [early]


@pytest.mark.parametrize("name", ["created_after", "created_before"])
@pytest.mark.parametrize(
    "text",
    ["yesterday", "2026-12-01", "2026-12-01T03:00:00", "2026-13-01T03:00:00Z", "2026-12-01T25:00:00Z", "1764558000",
     "0001-01-01T00:00:00%2B05:30", "9999-12-31T23:59:59-05:30", "2026-12-01T03:00:00%2B99:99", "20261201T030000Z+",
     "now()"],
)  # fmt: skip
def test_a_time_without_a_sense_or_an_offset_is_refused(client: Caller, name: str, text: str) -> None:
    reply = client.get(f"runs?{name}={text}")

    assert reply.problem == (400, "invalid_request")
    assert list(reply.body["errors"]) == [name]


@pytest.mark.parametrize(
    "query",
    ["status=", "status=done", "status=queued,", "queue_status=completed", "execution_mode=x", "status=queued,x"],
)
def test_a_status_that_there_is_not_is_refused(client: Caller, query: str) -> None:
    assert client.get(f"runs?{query}").problem == (400, "invalid_request")


@pytest.mark.parametrize(
    "name", ["search", "order", "ordering", "offset", "page", "status__in", "project", "token", "Limit"]
)
def test_an_unknown_parameter_is_refused_with_the_known_ones(client: Caller, name: str) -> None:
    reply = client.get(f"runs?{name}=1")

    assert reply.problem == (400, "unknown_filter")
    assert reply.body["parameter"] == name
    assert {"status", "limit", "cursor", "run_id_prefix"} <= set(reply.body["allowed"])


def test_a_page_costs_the_same_number_of_statements_however_long_it_is(client: Caller) -> None:
    reserved(client, 12, execution_mode="headless")
    client.get("runs")

    with CaptureQueriesContext(
        connection,
    ) as short:
        client.get("runs?limit=1")
    with CaptureQueriesContext(connection) as long:
        client.get("runs?limit=12")

    assert len(short) == len(long) == 2


def test_events_of_a_run_go_on_after_a_sequence_number(client: Caller, runner: Caller) -> None:
    run_id = client.reserve()
    runner.run(run_id)
    everything = client.get(f"runs/{run_id}/events").body
    first, second, third = [event["seq"] for event in everything["results"]]

    after = client.get(f"runs/{run_id}/events?after={first}&limit=1").body
    at_the_end = client.get(f"runs/{run_id}/events?after={third}").body

    assert everything["next_after"] == third
    assert ([event["seq"] for event in after["results"]], after["next_after"]) == ([second], second)
    assert (at_the_end["results"], at_the_end["next_after"]) == ([], third)
    beyond = client.get(f"runs/{run_id}/events?after={'9' * 400}")
    assert (beyond.status, beyond.body["results"]) == (200, [])
    assert client.get(f"runs/{run_id}/events?after=-1").problem == (400, "invalid_request")


def test_an_event_on_the_wire_is_its_row(client: Caller) -> None:
    run_id = client.reserve(origin_session_id="desk")
    row = Event.objects.get()

    (event,) = client.get(f"runs/{run_id}/events").body["results"]

    assert event == {
        "seq": row.pk,
        "run_id": run_id,
        "kind": "run",
        "key": run_id,
        "revision": 1,
        "type": "run.queued",
        "actor_type": "session",
        "actor_id": "desk",
        "generation": None,
        "payload": event["payload"],
        "at": row.at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{row.at.microsecond // 1000:03}Z",
        "digest": "sha256:" + bytes(row.digest).hex(),
    }


def test_times_on_the_wire_are_utc_with_milliseconds(client: Caller, frozen: FrozenClock) -> None:
    frozen.set(frozen.at + timedelta(milliseconds=120))
    run_id = client.reserve()
    Run.objects.update(available_at=frozen.at + timedelta(days=1))

    run = client.get(f"runs/{run_id}").body

    assert (run["created_at"], run["available_at"]) == ("2026-12-01T03:00:00.120Z", "2026-12-02T03:00:00.120Z")
