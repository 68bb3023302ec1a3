"""Another project's run is "not found", at every address and in every list."""

import re

import pytest
from django.urls import URLPattern

from api.urls import urlpatterns
from tests.api.cast import Caller, fresh_token, reservation
from tests.api.verbs import BATCHES, VERBS, Cast
from tests.builders import snapshot_of_everything

NEVER = "never-reserved"
READS = {"run": "runs/{}", "events": "runs/{}/events", "attempts": "runs/{}/attempts"}
OF_ONE_RUN = sorted(VERBS.keys() - {"reserve", "adopt", "claim_next", "renew_all", "reserve_all"} - set(BATCHES))


@pytest.mark.parametrize("path", READS.values(), ids=READS)
def test_another_projects_run_reads_like_one_that_never_was(client: Caller, stranger: Caller, path: str) -> None:
    run_id = client.reserve()

    theirs, never = stranger.get(path.format(run_id)), stranger.get(path.format(NEVER))

    assert theirs.problem == never.problem == (404, "not_found")
    assert theirs.content.replace(run_id.encode(), NEVER.encode()) == never.content


@pytest.mark.parametrize("verb", OF_ONE_RUN)
def test_another_projects_run_is_written_like_one_that_never_was(cast: Cast, stranger: Caller, verb: str) -> None:
    call = VERBS[verb](cast)
    run_id = call.path.split("/")[1]
    stranger.get("runs")
    stranger.post("claims", {"owner_id": "host-a", "workflows": ["none"], "tokens": [fresh_token()]})
    before = snapshot_of_everything()

    theirs = stranger.send(call.method, call.path, call.body)
    never = stranger.send(call.method, call.path.replace(run_id, NEVER), call.body)

    assert theirs.problem == never.problem == (404, "not_found")
    assert theirs.content.replace(run_id.encode(), NEVER.encode()) == never.content
    assert snapshot_of_everything() == before
    assert call.send().status in (200, 201)


@pytest.mark.parametrize("verb", sorted({*BATCHES} - {"reserve_all"}))
def test_a_batch_finds_no_run_of_another_project(cast: Cast, stranger: Caller, verb: str) -> None:
    call = VERBS[verb](cast)

    (result,) = stranger.send(call.method, call.path, call.body).body["results"]

    assert (result["ok"], result["problem"]["code"]) == (False, "not_found")
    assert call.send().body["results"][0]["ok"]


def test_lists_feeds_and_claims_hold_nothing_of_another_project(client: Caller, stranger: Caller) -> None:
    run_id = client.reserve(origin_session_id="shared")
    claim = {"owner_id": "host-z", "workflows": ["inventory"], "tokens": [fresh_token()]}

    assert stranger.get("runs").body["results"] == []
    assert stranger.get(f"runs?run_id_prefix={run_id}").body["results"] == []
    assert stranger.get("runs?workflow_name=inventory").body["results"] == []
    assert stranger.get("events").body["results"] == []
    assert stranger.get("session-reservation?session=shared").problem == (404, "not_found")
    assert stranger.post("claims", claim).body["claims"] == []


def test_another_projects_run_is_no_parent(client: Caller, stranger: Caller) -> None:
    parent = client.reserve()
    restart = {"parent_run_id": parent, "lineage_kind": "restart", "parent_run_revision": 1}

    theirs = stranger.post("runs", {**reservation(), **restart})
    never = stranger.post("runs", {**reservation(), **restart, "parent_run_id": NEVER})

    assert theirs.problem == never.problem == (404, "not_found")


def test_ids_sessions_definitions_and_owners_of_two_projects_do_not_meet(
    client: Caller, runner: Caller, stranger: Caller
) -> None:
    body = reservation()
    assert client.post("runs", body).status == 201
    runner.claim(body["run_id"])

    same = stranger.post("runs", {**body, "definition_snapshot": {"name": "another"}})
    token = fresh_token()
    claimed = stranger.post(f"runs/{body['run_id']}/claim", {"owner_id": "host-a", "token": token})

    assert (same.status, claimed.status) == (201, 200)


def addresses() -> list[str]:
    """Every address of the API, each below a run or not."""
    return [str(pattern.pattern) for pattern in urlpatterns if isinstance(pattern, URLPattern)]


@pytest.mark.parametrize("route", [route for route in addresses() if "<run:run_id>" in route])
def test_no_address_tells_another_projects_run_from_none(client: Caller, stranger: Caller, route: str) -> None:
    """Whatever the body: an id of another project is never looked at more closely than one that is not."""
    run_id = client.reserve()
    path = re.sub("<[a-z]+:[a-z_]+>", "x", route.replace("<run:run_id>", "{}"))

    for method in ("GET", "POST", "PUT"):
        for body in ({}, {"token": "x" * 43}):
            theirs = stranger.send(method, path.format(run_id), body)
            never = stranger.send(method, path.format(NEVER), body)
            assert theirs.status == never.status >= 400
            assert theirs.content.replace(run_id.encode(), NEVER.encode()) == never.content
