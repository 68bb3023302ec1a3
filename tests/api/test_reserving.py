"""POST and PUT of runs: reserved once, adopted where equal, and nothing of the server's taken from the caller."""

from typing import Any

import pytest

from tests.api.cast import Caller, reservation
from tests.builders import digest_of, snapshot_of_everything

DEFAULTS = {
    "status": "queued",
    "queue_status": "queued",
    "display_status": "queued",
    "paused": False,
    "status_detail": None,
    "priority": "normal",
    "error_code": None,
    "error_message": None,
    "execution_mode": "interactive",
    "parent_run_id": None,
    "lineage_kind": None,
    "restart_number": 0,
    "parent_run_revision": None,
    "revision": 1,
    "consecutive_errors": 0,
    "started_at": None,
    "finished_at": None,
}
SERVERS_OWN: dict[str, Any] = {
    "status": "completed",
    "queue_status": "done",
    "generation": 99,
    "revision": 99,
    "project": "beta",
    "project_id": 2,
    "created_by": "me",
    "root_run_id": "run-x",
    "root": 1,
    "parent": 1,
    "finished_at": "2026-12-01T00:00:00Z",
    "created_at": "2020-12-01T00:00:00Z",
    "owner_id": "host-a",
    "token_hash": "00" * 32,
    "available_at": "2020-12-01T00:00:00Z",
    "id": 1,
    "pk": 1,
    "lease": {"generation": 99},
    "paused": True,
    "consecutive_errors": 5,
}


def test_a_reserved_run_has_the_documented_defaults(client: Caller) -> None:
    body = reservation()

    reply = client.post("runs", body)

    assert reply.status == 201
    assert {name: reply.body[name] for name in DEFAULTS} == DEFAULTS
    assert reply.body["root_run_id"] == body["run_id"]
    assert reply.body["lease"]["generation"] == 0
    detail = client.get(f"runs/{body['run_id']}").body
    assert (detail["input"], detail["launch_options"], detail["output"]) == (None, {}, None)
    assert detail["workflow_source"] == {"root": body["workflow_source"], "mounted": []}
    assert reply.body == {name: detail[name] for name in reply.body}


def test_a_digest_may_come_without_its_prefix_and_in_capitals(client: Caller) -> None:
    digest = digest_of("inventory")

    reply = client.post("runs", reservation(definition_digest=digest.removeprefix("sha256:").upper()))

    assert reply.body["definition_digest"] == digest


@pytest.mark.parametrize("member", sorted(SERVERS_OWN))
def test_what_only_the_server_sets_is_refused_by_name(client: Caller, member: str) -> None:
    client.get("runs")
    before = snapshot_of_everything()

    reply = client.post("runs", reservation(**{member: SERVERS_OWN[member]}))

    assert reply.problem == (400, "invalid_request")
    assert list(reply.body["errors"]) == [member]
    assert snapshot_of_everything() == before


def test_patching_or_deleting_a_run_is_no_verb_of_this_wire(client: Caller) -> None:
    run_id = client.reserve()

    for method in ("PATCH", "DELETE", "POST"):
        assert client.send(method, f"runs/{run_id}", {"status": "completed"}).problem == (405, "method_not_allowed")


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"run_id": ""}, 400, "invalid_run_id"),
        ({"run_id": "-x"}, 400, "invalid_run_id"),
        ({"run_id": "x y"}, 400, "invalid_run_id"),
        ({"run_id": "Order-7 "}, 400, "invalid_run_id"),
        ({"run_id": " Order-7"}, 400, "invalid_run_id"),
        ({"run_id": "x\n"}, 400, "invalid_run_id"),
        ({"run_id": "é"}, 400, "invalid_run_id"),
        ({"run_id": "٣"}, 400, "invalid_run_id"),
        ({"run_id": "x" * 201}, 400, "invalid_run_id"),
        ({"run_id": "x" * 100_000}, 400, "invalid_run_id"),
        ({"definition_digest": "sha256:" + "0" * 63}, 400, "invalid_digest"),
        ({"definition_digest": "md5:" + "0" * 64}, 400, "invalid_digest"),
        ({"definition_digest": "0" * 64 + "\n"}, 400, "invalid_digest"),
        ({"workflow_source": None}, 400, "invalid_source"),
        ({"workflow_source": {"kind": "web", "url": "x"}}, 400, "invalid_source"),
        ({"workflow_source": {"kind": ["builtin"]}}, 400, "invalid_source"),
        ({"workflow_source": {"kind": "builtin", "id": 1, "revision": "1"}}, 400, "invalid_source"),
        ({"workflow_source": {"root": [], "mounted": []}}, 400, "invalid_source"),
        ({"priority": "urgent"}, 400, "invalid_request"),
        ({"priority": 0}, 400, "invalid_request"),
        ({"execution_mode": "batch"}, 400, "invalid_request"),
        ({"launch_options": []}, 400, "invalid_request"),
        ({"restart_number": 2**31}, 400, "invalid_request"),
        ({"parent_run_revision": 2**63}, 400, "invalid_request"),
        ({"lineage_kind": "restart"}, 409, "lineage_kind"),
        ({"restart_number": 1}, 409, "root_with_restart_fields"),
        ({"parent_run_revision": 1}, 409, "root_with_restart_fields"),
        ({"parent_run_id": "never", "lineage_kind": "restart"}, 404, "not_found"),
    ],
)
def test_what_a_run_cannot_be_made_of_is_refused(
    client: Caller, changes: dict[str, Any], status: int, code: str
) -> None:
    client.get("runs")
    before = snapshot_of_everything()

    reply = client.post("runs", reservation(**changes))

    assert reply.problem == (status, code)
    assert snapshot_of_everything() == before


def test_a_run_id_of_200_characters_is_taken_and_found(client: Caller) -> None:
    run_id = "x" * 200

    assert client.post("runs", reservation(run_id=run_id)).status == 201
    assert client.get(f"runs/{run_id}").body["run_id"] == run_id


def test_ids_that_differ_in_case_are_different_runs(client: Caller) -> None:
    ids = ["Order-7", "order-7", "ORDER-7"]
    for run_id in ids:
        client.reserve(run_id=run_id, execution_mode="headless", input=run_id)

    assert [client.get(f"runs/{run_id}").body["input"] for run_id in ids] == ids
    assert client.get("runs/oRDER-7").problem == (404, "not_found")


def test_a_missing_member_is_named(client: Caller) -> None:
    reply = client.post("runs", {"run_id": "run-x"})

    assert reply.problem == (400, "invalid_request")
    assert set(reply.body["errors"]) == {
        "workflow_name", "workflow_ref", "workflow_source", "definition_digest", "definition_snapshot",
        "origin_session_id",
    }  # fmt: skip


def test_an_id_is_reserved_once(client: Caller) -> None:
    body = reservation()

    first, second = client.post("runs", body), client.post("runs", body)

    assert (first.status, second.problem) == (201, (409, "already_reserved"))


def test_an_equal_reservation_is_adopted_and_another_names_what_differs(client: Caller) -> None:
    body = reservation(input={"a": 1, "b": [1.0]})
    path = f"runs/{body.pop('run_id')}"

    reserved = client.put(path, body)
    adopted = client.put(path, {**dict(reversed(body.items())), "input": {"b": [1], "a": 1}})
    other = client.put(path, {**body, "input": {"a": 2}, "workflow_ref": "inventory@2"})

    assert (reserved.status, reserved.body["state"]) == (201, "reserved")
    assert (adopted.status, adopted.body) == (200, {"state": "adopted", "run": reserved.body["run"]})
    assert other.problem == (409, "preparation_conflict")
    assert sorted(other.body["fields"]) == ["input", "workflow_ref"]
    assert client.get(path).body["revision"] == 1


def test_a_reservation_whose_answer_was_lost_is_adopted_by_put(client: Caller) -> None:
    body = reservation()
    path = f"runs/{body['run_id']}"
    client.post("runs", body)
    del body["run_id"]

    assert client.put(path, body).body["state"] == "adopted"


def test_a_put_names_its_run_in_the_address_alone(client: Caller) -> None:
    reply = client.put("runs/run-x", reservation(run_id="run-y"))

    assert reply.problem == (400, "invalid_request")
    assert list(reply.body["errors"]) == ["run_id"]


def test_a_digest_stands_for_one_definition(client: Caller) -> None:
    client.reserve()

    assert client.post("runs", reservation(definition_snapshot={"other": 1})).problem == (409, "definition_conflict")


def test_a_session_has_one_interactive_run_at_a_time(client: Caller) -> None:
    run_id = client.reserve(origin_session_id="desk")

    refused = client.post("runs", reservation(origin_session_id="desk"))

    assert (refused.problem, refused.body["run_id"]) == ((409, "session_busy"), run_id)
    assert int(refused.headers["Retry-After"]) > 0
    assert client.get("session-reservation?session=desk").body["run_id"] == run_id
    assert client.get("session-reservation?session=Desk").problem == (404, "not_found")
    assert client.get("session-reservation").problem == (400, "invalid_request")


def test_mount_paths_are_unique(client: Caller) -> None:
    source = {"kind": "builtin", "id": "inventory", "revision": "1"}
    mount = {"mountPath": ["lib"], "workflowName": "lib", "source": source}

    twice = client.post("runs", reservation(workflow_source={"root": source, "mounted": [mount, mount]}))
    once = reservation(workflow_source={"root": source, "mounted": [mount]})

    assert twice.problem == (409, "duplicate_mount")
    assert client.post("runs", once).status == 201
    assert client.get(f"runs/{once['run_id']}").body["workflow_source"] == once["workflow_source"]


def test_a_restart_continues_its_parents_lineage(client: Caller, runner: Caller) -> None:
    parent = client.reserve(origin_session_id="desk")
    token = runner.run(parent)
    restart: dict[str, Any] = {"origin_session_id": "desk", "parent_run_id": parent, "lineage_kind": "restart"}
    unfinished = client.post("runs", reservation(**restart, parent_run_revision=3, execution_mode="headless"))
    runner.post(f"runs/{parent}/fail", {"token": token, "error_code": "x", "error_message": ""})

    refusals: dict[str, dict[str, Any]] = {
        "lineage_kind": {"lineage_kind": None},
        "parent_session": {"origin_session_id": "another"},
        "parent_revision_missing": {},
        "parent_revision_changed": {"parent_run_revision": 3},
        "restart_number": {"parent_run_revision": 4, "restart_number": 2},
    }
    refused = {code: client.post("runs", reservation(**{**restart, **more})).problem for code, more in refusals.items()}
    made = client.post("runs", reservation(**restart, parent_run_revision=4))
    again = client.post(
        "runs", reservation(**restart, parent_run_revision=4, execution_mode="headless", run_id="second")
    )

    assert unfinished.problem == (409, "parent_not_terminal")
    assert refused == {code: (409, code) for code in refusals}
    assert (made.status, made.body["restart_number"], made.body["root_run_id"]) == (201, 1, parent)
    assert again.problem == (409, "parent_already_restarted")
