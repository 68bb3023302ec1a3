"""The project's feed: all events once, in an order that never closes up behind a reader."""

import time
from typing import Any

import pytest
from django.db import connections

from runs.models import Project
from tests.api.cast import Caller
from tests.builders import RunBuilder


@pytest.fixture(autouse=True)
def _rows(transactional_db: None) -> None:
    """The feed shows what is committed."""


def read(caller: Caller, cursor: str, number: int) -> list[dict[str, Any]]:
    """So many events after the cursor, two a page.

    On PostgreSQL an event waits for every older transaction of the whole server, those of other tests among them.
    """
    found: list[dict[str, Any]] = []
    patience = time.monotonic() + 30
    while len(found) < number and time.monotonic() < patience:
        page = caller.get(f"events?limit=2&cursor={cursor}" if cursor else "events?limit=2").body
        cursor = page["next"]
        found += page["results"]
        time.sleep(0 if page["results"] else 0.02)
    return found


def test_the_feed_brings_every_event_of_the_project_once(client: Caller, runner: Caller) -> None:
    runs = [client.reserve() for _ in range(3)]
    runner.run(runs[1])

    seen = [(event["run_id"], event["revision"]) for event in read(client, "", 5)]

    assert sorted(seen) == sorted([(runs[0], 1), (runs[1], 1), (runs[1], 2), (runs[1], 3), (runs[2], 1)])
    assert [revision for run_id, revision in seen if run_id == runs[1]] == [1, 2, 3]


def test_the_feed_goes_on_from_an_empty_page(client: Caller) -> None:
    first = client.get("events").body
    run_id = client.reserve()

    assert first["results"] == []
    assert [event["run_id"] for event in read(client, first["next"], 1)] == [run_id]


@pytest.mark.postgres
def test_an_event_committed_late_is_not_passed_by(client: Caller, project: Project) -> None:
    other = connections["default"].copy()
    try:
        # Somebody's transaction has begun and has written, and ours overtakes it.
        other.ensure_connection()
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_current_xact_id()")
        RunBuilder(project).queued(run_id="late")
        page = client.get("events").body
        other.rollback()
        after = read(client, page["next"], 1)
    finally:
        other.close()

    assert page["results"] == []
    assert [event["run_id"] for event in after] == ["late"]
