"""Views over the wire: as a run stands, as it was at any of its events, and the documents that they name."""

from typing import Any

import pytest

from runs import view
from tests.api.cast import Caller
from tests.api.effect_verbs import in_doubt, running
from tests.api.verbs import Cast


def events(client: Caller, run_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"runs/{run_id}/events").body["results"]
    return found


def test_a_view_shows_the_run_with_all_that_hangs_on_it(cast: Cast, client: Caller) -> None:
    run_id = in_doubt(cast)[0].split("/")[1]

    reply = client.get(f"runs/{run_id}/view")

    shown = reply.body["view"]
    assert (reply.status, reply.body["cut"]) == (200, [])
    assert reply.body["cursor"] == events(client, run_id)[-1]["seq"]
    assert (shown["summary"]["run_id"], shown["summary"]["display_status"]) == (run_id, "ambiguous")
    assert [effect["status"] for effect in shown["inspector"]["effects"].values()] == ["ambiguous"]
    assert [attempt["outcome"] for attempt in shown["inspector"]["tries"].values()] == ["ambiguous"]


def test_every_event_can_be_looked_back_at(cast: Cast, client: Caller) -> None:
    run_id, token = running(cast)
    cast.runner.post(f"runs/{run_id}/complete", {"token": token, "output": {"x": 1}})

    seen = [client.get(f"runs/{run_id}/view?at={event['seq']}").body["view"] for event in events(client, run_id)]

    assert [each["summary"]["queue_status"] for each in seen] == ["queued", "starting", "running", "done"]
    now = client.get(f"runs/{run_id}/view").body["view"]
    assert view.settled(seen[-1]) == view.settled(now)


def test_before_its_first_event_there_is_no_run(cast: Cast, client: Caller) -> None:
    run_id, _ = running(cast)

    assert client.get(f"runs/{run_id}/view?at=0").problem == (404, "not_found")


def test_a_document_that_a_view_names_is_fetched_by_its_digest(cast: Cast, client: Caller) -> None:
    run_id = cast.client.reserve(input={"b": 1, "a": [True]})
    named = client.get(f"runs/{run_id}/view").body["view"]["summary"]["input"]

    reply = client.get(f"documents/{named['digest']}?media_type={named['media_type']}")

    assert (reply.status, reply.content) == (200, b'{"a":[true],"b":1}')
    assert (reply.headers["Content-Disposition"], reply.headers["X-Content-Type-Options"]) == ("attachment", "nosniff")
    assert len(reply.content) == named["size"]


@pytest.mark.parametrize(
    ("digest", "problem"),
    [
        ("sha256:" + "0" * 64, (404, "not_found")),
        ("sha256:" + "0" * 63, (400, "invalid_digest")),
        ("0" * 64, (400, "invalid_request")),
    ],
)
def test_what_is_no_document_of_the_project_is_not_found(client: Caller, digest: str, problem: tuple[int, str]) -> None:
    assert client.get(f"documents/{digest}").problem == problem
