"""The list of runs: what it shows, how it is narrowed and paged, and what it costs."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs import clock
from runs.admin import search
from runs.models import Project, Run
from runs.states import ExecutionMode
from tests.builders import START, RunBuilder, write
from tests.console.addresses import RUN_LIST, queue_many, run_page
from tests.console.conftest import Browser


@pytest.fixture
def page(browser: Browser, operator: User) -> Client:
    return browser(operator)


def ids(client: Client, query: str = "") -> list[str]:
    """The run ids that the list shows, in its order."""
    response = client.get(RUN_LIST + query)
    assert response.status_code == 200, response.status_code
    return re.findall(r'wq-link" href="/console/runs/run/\d+/change/" title="([^"]+)"', response.content.decode())


def link(client: Client, query: str, text: str) -> str | None:
    """Where the pager's link of that text leads from this page."""
    html = client.get(RUN_LIST + query).content.decode()
    found = re.search(rf'<a href="(\?[^"]*)"[^>]*>{text}</a>', html)
    return found[1].replace("&amp;", "&") if found else None


def test_a_row_shows_status_workflow_owner_generation_and_error_code(page: Client, runs: RunBuilder) -> None:
    runs.running(owner_id="host-a.1")
    runs.failed(code="disk_full")

    html = page.get(RUN_LIST).content.decode()

    for shown in ("running", "failed", "inventory", "host-a.1", "Lease generation 1", "disk_full"):
        assert shown in html


def test_the_newest_run_comes_first(page: Client, runs: RunBuilder) -> None:
    for _ in range(3):
        runs.queued()

    assert ids(page) == ["run-3", "run-2", "run-1"]


def test_an_expired_holder_is_marked(page: Client, runs: RunBuilder) -> None:
    runs.expired()

    assert "expired</span>" in page.get(RUN_LIST).content.decode()


def test_without_runs_the_list_says_so(page: Client, project: Project) -> None:
    assert "No runs yet" in page.get(RUN_LIST).content.decode()


def test_without_a_project_the_list_says_so(page: Client) -> None:
    assert "No runs yet" in page.get(RUN_LIST).content.decode()


def test_a_list_narrowed_to_nothing_says_so(page: Client, runs: RunBuilder) -> None:
    runs.queued()

    assert "No such run" in page.get(RUN_LIST + "?status=failed").content.decode()


# --- Filters and search ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("queued", "queued"),
        ("running", "running"),
        ("waiting", "waiting"),
        ("paused", "paused"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("timed_out", "timed_out"),
        ("cancelled", "cancelled"),
    ],
)
def test_the_status_filter_finds_what_the_labels_show(page: Client, runs: RunBuilder, state: str, status: str) -> None:
    others = ["queued", "running", "waiting", "paused", "completed", "failed", "timed_out", "cancelled"]
    for number, other in enumerate(others):
        getattr(runs, other)(run_id=f"{other}-{number}")

    assert [run_id.rpartition("-")[0] for run_id in ids(page, f"?status={status}")] == [state]


def test_an_ambiguous_run_is_found_as_ambiguous_alone(page: Client, runs: RunBuilder) -> None:
    made = runs.running(run_id="doubtful")
    write(made, error_code="effectAmbiguous")

    assert ids(page, "?status=ambiguous") == ["doubtful"]
    assert ids(page, "?status=running") == []


def test_filters_narrow_together(page: Client, runs: RunBuilder) -> None:
    runs.failed(run_id="wanted", workflow_name="report", code="disk_full", execution_mode=ExecutionMode.HEADLESS)
    runs.failed(workflow_name="report", code="other", execution_mode=ExecutionMode.HEADLESS)
    runs.failed(workflow_name="inventory", code="disk_full")
    runs.queued(workflow_name="report")

    query = "?workflow=report&error_code=disk_full&queue_status=failed&execution_mode=headless&created=day"
    assert ids(page, query) == ["wanted"]


def test_the_creation_filter_leaves_out_older_runs(page: Client, runs: RunBuilder) -> None:
    with clock.frozen(clock.now() - timedelta(hours=2)):
        runs.queued(run_id="long-ago")
    runs.queued(run_id="just-now")

    assert ids(page, "?created=hour") == ["just-now"]


@pytest.mark.parametrize("name", ["status", "queue_status", "execution_mode", "created", "workflow", "error_code"])
@pytest.mark.parametrize("value", ["nonsense", "%", "%00", "%F0%9F%92%A9", "' OR 1=1 --", "x" * 10_000])
def test_a_filter_value_that_nothing_has_finds_nothing(page: Client, runs: RunBuilder, name: str, value: str) -> None:
    runs.failed()

    assert ids(page, f"?{name}={value}") == []


@pytest.mark.parametrize(
    "parameter",
    [
        "run_id__regex=(a%2B)%2B%24",
        "run_id__icontains=r",
        "input__content=x",
        "workflow_ref__iregex=x",
        "id=1",
        "foo=1",
    ],
)
def test_an_address_can_not_name_columns_and_operators(page: Client, runs: RunBuilder, parameter: str) -> None:
    runs.queued()

    assert page.get(f"{RUN_LIST}?{parameter}").status_code == 400


def test_search_finds_ids_by_their_beginning_and_with_their_case(page: Client, runs: RunBuilder) -> None:
    for run_id in ("report-1", "report-12", "Report-1", "my-report-1"):
        runs.queued(run_id=run_id)

    assert ids(page, "?q=report-1") == ["report-12", "report-1"]
    assert ids(page, "?q=%20report-12%20") == ["report-12"]
    assert ids(page, "?q=Rep") == ["Report-1"]


@pytest.mark.parametrize(
    "text",
    [
        "%",
        "_",
        "r%",
        "r__-1",
        "(a+)+$",
        ".*",
        "\\",
        "'",
        '";--',
        "run-1\\",
        "x" * 10_000,
        "word " * 1_000,
        "rún",
    ],
)
def test_search_text_is_text(page: Client, runs: RunBuilder, text: str) -> None:
    runs.queued()

    response = page.get(RUN_LIST, {"q": text})

    assert response.status_code == 200
    assert "run-1/change" not in response.content.decode()
    assert "No such run" in response.content.decode()


def test_a_search_looks_at_so_many_ids_and_says_so(
    page: Client, runs: RunBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "REACH", 3)
    for run_id in ("ab", "a1", "a2", "a3", "a"):
        runs.queued(run_id=run_id)

    html = page.get(RUN_LIST + "?q=a").content.decode()

    assert "type more of the id" in html
    assert len(ids(page, "?q=a")) in (3, 4)
    # The very id is found whatever else begins so.
    assert "a" in ids(page, "?q=a")


def test_search_and_filters_narrow_together(page: Client, runs: RunBuilder) -> None:
    runs.queued(run_id="report-1")
    runs.failed(run_id="report-2")

    assert ids(page, "?q=report&status=failed") == ["report-2"]


# --- Pages ----------------------------------------------------------------------------------------------------------


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
