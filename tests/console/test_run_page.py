"""The page of one run: what it shows, digit for digit, and that its cost has a bound."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs import transitions
from runs.admin import documents, run_history
from runs.journal import Actor
from runs.states import ActorType
from runs.transitions import Note
from tests.builders import Made, RunBuilder, write_lease
from tests.console.addresses import cancel_page, document, run_page
from tests.console.conftest import Browser

SESSION = Actor(ActorType.SESSION, "session-1")


@pytest.fixture
def page(browser: Browser, operator: User) -> Client:
    return browser(operator)


def shown(client: Client, made: Made, query: str = "") -> str:
    response = client.get(run_page(made) + query)
    assert response.status_code == 200
    return response.content.decode()


def note(made: Made, payload: dict[str, Any], type: str = "note") -> None:
    transitions.record_event(made.project, Note(made.run_id, type, payload), SESSION)


def test_it_shows_identity_statuses_lease_documents_and_events(page: Client, runs: RunBuilder) -> None:
    made = runs.running(owner_id="host-a.1", input={"path": "/srv"})
    attempt = runs.attempt(made, "hash files")
    transitions.complete_attempt(made.project, made.hold, attempt, {"files": 12})

    html = shown(page, made)

    for fact in (made.run_id, "acme", "inventory@1", "host-a.1", "live", "/srv", "hash files", "&quot;files&quot;: 12"):
        assert fact in html
    for type in made.event_types:
        assert type in html


def test_numbers_keep_every_digit(page: Client, runs: RunBuilder) -> None:
    made = runs.queued(input={"big": 123456789012345678901234567891, "small": 1e-7, "whole": 12})

    html = shown(page, made)

    assert "&quot;big&quot;: 123456789012345678901234567891" in html
    assert "&quot;small&quot;: 1e-7" in html


def test_a_failed_run_shows_its_code_and_message(page: Client, runs: RunBuilder) -> None:
    made = runs.failed(code="disk_full", message="No space left:\n  on /srv\n")

    html = shown(page, made)

    assert 'aria-label="Error"' in html
    assert "No space left:\n  on /srv\n" in html


def test_an_expired_lease_is_not_shown_as_live(page: Client, runs: RunBuilder) -> None:
    html = shown(page, runs.expired())

    assert "expired" in html
    assert ">live<" not in html.replace(" ", "").replace("\n", "")


def test_parent_root_and_restart_lead_to_each_other(page: Client, runs: RunBuilder) -> None:
    parent = runs.failed(run_id="first")
    restart = runs.queued(
        run_id="second",
        origin_session_id=parent.run.origin_session_id,
        parent_run_id="first",
        lineage_kind="restart",
        parent_run_revision=parent.run.revision,
    )

    assert f'href="{run_page(restart)}"' in shown(page, parent)
    assert f'href="{run_page(parent)}"' in shown(page, restart)


def test_a_long_document_is_cut_and_can_be_downloaded(page: Client, runs: RunBuilder) -> None:
    made = runs.queued(input={"text": "é" * documents.EXCERPT + "the end"})

    html = shown(page, made)
    whole = page.get(document(made, "input"))

    assert "of which this is the beginning" in html
    assert "the end" not in html
    assert whole.content == bytes(made.run.input.content)
    assert whole["Content-Disposition"].startswith("attachment")
    assert whole["X-Content-Type-Options"] == "nosniff"


def test_a_document_nested_deep_stays_short_on_the_page(page: Client, runs: RunBuilder) -> None:
    deep: Any = [1] * 5_000
    for _ in range(90):
        deep = [deep]

    html = shown(page, runs.queued(input=deep))

    assert len(html) < 4 * documents.EXCERPT


@pytest.mark.parametrize("name", ["nothing", "token_hash", "error", "output", "project"])
def test_only_documents_that_a_run_has_are_downloaded(page: Client, runs: RunBuilder, name: str) -> None:
    assert page.get(document(runs.queued(), name)).status_code == 404


def test_the_newest_events_are_shown_and_the_earlier_ones_one_link_away(
    page: Client, runs: RunBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_history, "MAX_EVENTS", 10)
    made = runs.queued()
    for number in range(14):
        note(made, {"number": number})
    oldest_shown = made.events[-10]

    html = shown(page, made)
    earlier = shown(page, made, f"?before={oldest_shown.pk}")

    assert "At least 5 earlier events" in html
    assert "run.queued" not in html
    assert html.index("&quot;number&quot;:4}") < html.index("&quot;number&quot;:13}")
    assert "run.queued" in earlier
    assert "Back to the newest" in earlier


@pytest.mark.parametrize("before", ["x", "-1", "9" * 40, "%00", "٣"])
def test_a_bound_of_events_that_makes_no_sense_is_none(page: Client, runs: RunBuilder, before: str) -> None:
    assert "run.queued" in shown(page, runs.queued(), f"?before={before}")


def test_a_long_payload_is_cut(page: Client, runs: RunBuilder) -> None:
    made = runs.queued()
    note(made, {"text": "x" * 10_000 + "the end"})

    html = shown(page, made)

    assert "characters in all" in html
    assert "the end" not in html


def test_the_number_of_statements_does_not_grow_with_what_happened(
    page: Client, runs: RunBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_history, "MAX_ATTEMPTS", 5)
    made = runs.running()
    first = runs.attempt(made, "first")
    transitions.complete_attempt(made.project, made.hold, first, {"number": 0})
    with CaptureQueriesContext(connection) as few:
        shown(page, made)

    for number in range(6):
        attempt = runs.attempt(made, f"node-{number}")
        transitions.complete_attempt(made.project, made.hold, attempt, {"number": number})
    with CaptureQueriesContext(connection) as many:
        html = shown(page, made)

    assert len(many) == len(few)
    assert "there are earlier ones" in html
    assert not [each["sql"] for each in many if "COUNT(" in each["sql"].upper()]


def test_the_cancel_button_is_there_while_the_run_can_be_cancelled(page: Client, runs: RunBuilder) -> None:
    live, over = runs.running(), runs.completed()

    assert f'href="{cancel_page(live)}"' in shown(page, live)
    assert cancel_page(over) not in shown(page, over)


def test_the_cancel_button_is_not_there_for_those_who_may_not(browser: Browser, viewer: User, runs: RunBuilder) -> None:
    made = runs.running()

    assert cancel_page(made) not in shown(browser(viewer), made)


def test_a_lease_without_an_end_of_days_is_shown(page: Client, runs: RunBuilder) -> None:
    made = runs.running()
    write_lease(made, expires_at="9999-12-31T23:59:59.999Z")

    assert "9999-12-31 23:59:59.999 UTC" in shown(page, made)


@pytest.mark.parametrize("key", ["0", "99999999999999999999999", "abc", "1%00", "%F0%9F%92%A9", "-1", "1 OR 1=1"])
def test_a_run_that_is_none_is_not_found(page: Client, runs: RunBuilder, key: str) -> None:
    runs.queued()

    assert page.get(f"/console/runs/run/{key}/change/").status_code == 404
