"""The project's feed: all events once, in an order that never closes up behind a reader."""

import pytest
from django.db import connections

from runs.models import Project
from tests.api.cast import Caller
from tests.builders import RunBuilder


@pytest.fixture(autouse=True)
def _rows(transactional_db: None) -> None:
    """The feed shows what is committed."""


def test_the_feed_brings_every_event_of_the_project_once(client: Caller, runner: Caller) -> None:
    runs = [client.reserve() for _ in range(3)]
    runner.run(runs[1])

    seen, cursor = [], ""
    while True:
        page = client.get(f"events?limit=2{cursor}").body
        cursor = f"&cursor={page['next']}"
        if not page["results"]:
            break
        seen += [(event["run_id"], event["revision"]) for event in page["results"]]

    assert sorted(seen) == sorted([(runs[0], 1), (runs[1], 1), (runs[1], 2), (runs[1], 3), (runs[2], 1)])
    assert [revision for run_id, revision in seen if run_id == runs[1]] == [1, 2, 3]


def test_the_feed_goes_on_from_an_empty_page(client: Caller) -> None:
    first = client.get("events").body
    run_id = client.reserve()

    second = client.get(f"events?cursor={first['next']}").body

    assert first["results"] == []
    assert [event["run_id"] for event in second["results"]] == [run_id]


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
        after = client.get(f"events?cursor={page['next']}").body
    finally:
        other.close()

    assert page["results"] == []
    assert [event["run_id"] for event in after["results"]] == ["late"]
