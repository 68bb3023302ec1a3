"""Cancelling from the console: asked before, done by the transition, in the operator's name, told in words."""

import json

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.test import Client

from runs.admin.cancelling import Report
from runs.models import Event, Project, Run
from tests.builders import Made, RunBuilder, snapshot_of_everything
from tests.console.addresses import RUN_LIST, cancel_page, run_page
from tests.console.conftest import Browser
from tests.console.listing import queue_many


@pytest.fixture
def page(browser: Browser, operator: User) -> Client:
    return browser(operator)


def ticked(*made: Made, **fields: str) -> dict[str, object]:
    """What the list's form sends for these rows."""
    return {"action": "cancel_runs", "index": "0", "_selected_action": [str(each.run.pk) for each in made], **fields}


def said(client: Client, address: str, data: dict[str, object]) -> list[str]:
    """The messages that posting this leaves."""
    response = client.post(address, data)
    assert response.status_code == 302
    return [str(message) for message in get_messages(response.wsgi_request)]


def test_a_run_is_cancelled_with_the_operators_name_and_reason(page: Client, runs: RunBuilder) -> None:
    made = runs.running()

    messages = said(page, cancel_page(made), {"reason": "superseded", "confirmed": "yes"})

    event = made.events[-1]
    assert messages == ["1 cancelled."]
    assert made.axes == ("cancelled", "cancelled")
    assert (event.type, event.actor_type, event.actor_id) == ("run.queue_cancelled", "human", "olga.operator")
    assert json.loads(event.payload)["reason"] == "superseded"


def test_the_page_asks_before_it_cancels(page: Client, runs: RunBuilder) -> None:
    made = runs.running()
    before = snapshot_of_everything()

    html = page.get(cancel_page(made)).content.decode()

    assert "Cancel 1 run?" in html
    assert 'name="reason"' in html
    assert snapshot_of_everything() == before


def test_a_refusal_is_a_sentence(page: Client, runs: RunBuilder) -> None:
    made = runs.completed()
    before = snapshot_of_everything()

    asked = page.get(cancel_page(made)).content.decode()
    messages = said(page, cancel_page(made), {"confirmed": "yes"})

    assert "The run is over." in asked
    assert ">Cancel run<" not in asked
    assert messages == ["1 refused: the run is over."]
    assert snapshot_of_everything() == before


def test_ticked_runs_are_shown_before_they_are_cancelled(page: Client, runs: RunBuilder) -> None:
    first, second = runs.queued(), runs.completed()
    before = snapshot_of_everything()

    html = page.post(RUN_LIST, ticked(first, second)).content.decode()

    assert "Cancel 2 runs?" in html
    assert "The run is over." in html
    assert snapshot_of_everything() == before


def test_ticked_runs_are_cancelled_and_the_refused_ones_counted(page: Client, runs: RunBuilder) -> None:
    open_ones = [runs.queued(), runs.running(), runs.parked()]
    over = [runs.completed(), runs.failed(), runs.cancelled()]

    messages = said(page, RUN_LIST, ticked(*open_ones, *over, confirmed="yes", reason="freeze"))

    assert messages == ["3 cancelled, 2 refused: the run is over, 1 refused: the run was cancelled."]
    assert {made.axes for made in open_ones} == {("cancelled", "cancelled")}
    assert {made.events[-1].actor_id for made in open_ones} == {"olga.operator"}


def test_runs_of_several_projects_are_cancelled_each_in_its_own(page: Client, runs: RunBuilder) -> None:
    other = RunBuilder(Project.objects.create(path="zoo"))
    ours, theirs = runs.queued(run_id="same"), other.queued(run_id="same")
    untouched = other.queued(run_id="different")

    assert said(page, RUN_LIST, ticked(ours, theirs, confirmed="yes")) == ["2 cancelled."]
    assert untouched.axes == ("queued", "queued")


def test_only_ticked_runs_are_cancelled_whatever_the_form_says(page: Client, runs: RunBuilder) -> None:
    one, other = runs.queued(), runs.queued()

    said(page, RUN_LIST, ticked(one, confirmed="yes", select_across="1"))

    assert other.axes == ("queued", "queued")


def test_a_filtered_list_cancels_what_was_ticked_though_it_moved_on(page: Client, runs: RunBuilder) -> None:
    made = runs.completed()

    messages = said(page, RUN_LIST + "?status=running", ticked(made, confirmed="yes"))

    assert messages == ["1 refused: the run is over."]


@pytest.mark.parametrize("key", ["x", "-1", "99999999999999999999999", "1; DROP TABLE", ""])
def test_ticks_that_make_no_sense_cancel_nothing(page: Client, runs: RunBuilder, key: str) -> None:
    runs.queued()
    before = snapshot_of_everything()

    response = page.post(RUN_LIST, {"action": "cancel_runs", "_selected_action": [key], "confirmed": "yes"})

    assert response.status_code == 400
    assert snapshot_of_everything() == before


def test_a_reason_that_is_too_long_is_refused_beside_its_field(page: Client, runs: RunBuilder) -> None:
    made = runs.queued()

    html = page.post(cancel_page(made), {"reason": "x" * 501}).content.decode()

    assert "at most 500 characters" in html
    assert made.axes == ("queued", "queued")


def test_more_ticks_than_a_batch_are_cut_off(page: Client, runs: RunBuilder) -> None:
    queue_many(runs, 101)
    keys = list(Run.objects.values_list("pk", flat=True))

    page.post(RUN_LIST, {"action": "cancel_runs", "_selected_action": keys, "confirmed": "yes"})

    assert Event.objects.filter(type="run.queue_cancelled").count() == 100


def test_a_viewer_can_not_cancel(browser: Browser, viewer: User, runs: RunBuilder) -> None:
    made = runs.queued()
    page = browser(viewer)
    before = snapshot_of_everything()

    assert page.get(cancel_page(made)).status_code == 403
    assert page.post(cancel_page(made), {"confirmed": "yes"}).status_code == 403
    page.post(RUN_LIST, ticked(made, confirmed="yes"))

    assert snapshot_of_everything() == before
    assert "cancel_runs" not in page.get(RUN_LIST).content.decode()


def test_whoever_may_cancel_but_not_look_can_not_cancel(browser: Browser, newcomer: User, runs: RunBuilder) -> None:
    made = runs.queued()

    assert browser(newcomer).post(cancel_page(made), {"confirmed": "yes"}).status_code == 403
    assert made.axes == ("queued", "queued")


def test_after_cancelling_one_is_back_where_one_was(page: Client, runs: RunBuilder) -> None:
    made, other = runs.queued(), runs.queued()

    assert page.post(cancel_page(made), {"confirmed": "yes"})["Location"] == run_page(made)
    listed = RUN_LIST + "?status=queued"
    assert page.post(listed, ticked(other, confirmed="yes"))["Location"] == listed


def test_a_report_counts_each_reason() -> None:
    report = Report(cancelled=7)
    report.refused.update(["The run is over."] * 2)

    assert report.sentence == "7 cancelled, 2 refused: the run is over."
    assert Report().sentence == "0 cancelled."
