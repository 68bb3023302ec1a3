"""The pages of the list of runs, one project at a time; and what it costs to show them."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs import clock
from runs.models import Project, Run
from tests.builders import START, RunBuilder
from tests.console.addresses import RUN_LIST, run_page
from tests.console.conftest import Browser
from tests.console.listing import ids, link, queue_many


@pytest.fixture
def page(browser: Browser, operator: User) -> Client:
    return browser(operator)


def test_pages_follow_each_other_without_gap_or_repetition(page: Client, runs: RunBuilder) -> None:
    with clock.frozen(START):
        # All created at one moment: the insertion breaks the tie.
        queue_many(runs, 120)
    everything = list(Run.objects.order_by("-pk").values_list("run_id", flat=True))

    first, second = ids(page), link(page, "", "Older")
    assert second is not None
    third = link(page, second, "Older")
    assert third is not None

    assert [first, ids(page, second), ids(page, third)] == [everything[:50], everything[50:100], everything[100:]]
    assert link(page, third, "Older") is None
    assert ids(page, link(page, third, "Newer") or "") == everything[50:100]
    assert ids(page, link(page, second, "Newer") or "") == everything[:50]
    assert ids(page, link(page, "", "Oldest") or "") == everything[70:]


def test_a_page_keeps_the_filters(page: Client, runs: RunBuilder) -> None:
    queue_many(runs, 51)
    runs.failed()

    older = link(page, "?status=queued", "Older")

    assert older is not None
    assert ids(page, older) == ["run-1"]


def test_filters_do_not_keep_the_page(page: Client, runs: RunBuilder) -> None:
    queue_many(runs, 51)
    older = link(page, "", "Older") or ""

    html = page.get(RUN_LIST + older).content.decode()

    assert 'name="older"' not in html


@pytest.mark.parametrize("place", ["x", "1-", "-1-1", "9" * 15 + "-1", "1-" + "9" * 40, "%00", "0-0&newer=0-0"])
def test_a_place_that_makes_no_sense_is_harmless(page: Client, runs: RunBuilder, place: str) -> None:
    runs.queued()

    assert page.get(f"{RUN_LIST}?older={place}").status_code == 200


# --- Projects -------------------------------------------------------------------------------------------------------


def test_a_list_shows_one_project_at_a_time(page: Client, runs: RunBuilder) -> None:
    other = RunBuilder(Project.objects.create(path="zoo/<b>"))
    runs.queued(run_id="ours")
    other.queued(run_id="theirs")

    assert ids(page) == ["ours"]
    assert ids(page, "?project=zoo/%3Cb%3E") == ["theirs"]


def test_a_project_that_is_none_is_not_found(page: Client, runs: RunBuilder) -> None:
    assert page.get(RUN_LIST + "?project=nowhere").status_code == 404
    assert page.get(RUN_LIST + "?project=%00").status_code == 404


# --- Cost -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "?status=queued", "?q=run", "?newer=0-0", "?workflow=inventory"])
def test_the_number_of_statements_does_not_grow_with_the_runs(page: Client, runs: RunBuilder, query: str) -> None:
    runs.running()
    with CaptureQueriesContext(connection) as few:
        page.get(RUN_LIST + query)

    for number in range(5):
        runs.queued(workflow_name=f"workflow-{number}")
    queue_many(runs, 60)
    with CaptureQueriesContext(connection) as many:
        page.get(RUN_LIST + query)

    assert len(many) <= len(few) < 12


def test_nothing_is_counted(page: Client, runs: RunBuilder) -> None:
    queue_many(runs, 60)

    with CaptureQueriesContext(connection) as statements:
        for query in ("", "?status=queued", "?q=run", "?newer=0-0"):
            page.get(RUN_LIST + query)

    assert not [each["sql"] for each in statements if "COUNT(" in each["sql"].upper()]
    assert not [each["sql"] for each in statements if "OFFSET" in each["sql"].upper()]


def test_a_row_leads_to_its_run(page: Client, runs: RunBuilder) -> None:
    made = runs.queued()

    assert f'href="{run_page(made)}"' in page.get(RUN_LIST).content.decode()


PLANS = {
    "": "run_newest",
    "?status=failed": "run_by_status",
    "?queue_status=failed": "run_by_queue_status",
    "?workflow=report": "run_by_workflow",
    "?error_code=broken": "run_by_error_code",
    "?older=1764558000000-9": "run_newest",
    "?newer=0-0": "run_newest",
}


@pytest.mark.parametrize(("query", "index"), PLANS.items())
def test_each_list_walks_an_index_in_its_order(page: Client, runs: RunBuilder, query: str, index: str) -> None:
    queue_many(runs, 200)
    runs.failed(workflow_name="report")

    plan = _plan(page, query)

    assert index in plan
    assert "TEMP B-TREE" not in plan
    assert "Sort" not in plan


# PostgreSQL's choice turns on sizes that a test's table does not reach.
@pytest.mark.sqlite
def test_a_search_walks_an_index_of_ids(page: Client, runs: RunBuilder) -> None:
    queue_many(runs, 200)

    assert "run_id>? AND run_id<?" in _plan(page, "?q=run-17")


def _plan(client: Client, query: str) -> str:
    """How the database means to find the list's runs."""
    with CaptureQueriesContext(connection) as statements:
        client.get(RUN_LIST + query)
    found = next(each["sql"] for each in statements if 'FROM "runs_run"' in each["sql"])
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # As it is where a table is large: reading all of it is no choice.
            cursor.execute("ANALYZE; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
            cursor.execute("EXPLAIN " + found)
        else:
            cursor.execute("EXPLAIN QUERY PLAN " + found)
        return "\n".join(str(row[-1]) for row in cursor.fetchall())
