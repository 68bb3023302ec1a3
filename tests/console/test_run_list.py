"""The list of runs: what it shows, and how it is narrowed."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs import clock
from runs.admin import search
from runs.models import Project
from runs.states import ExecutionMode
from tests.builders import RunBuilder, write
from tests.console.addresses import RUN_LIST
from tests.console.conftest import Browser
from tests.console.listing import ids


@pytest.fixture
def page(browser: Browser, operator: User) -> Client:
    return browser(operator)


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
