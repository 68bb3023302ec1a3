"""IDEM-1 to IDEM-4 where the other tests leave something out."""

from typing import Any

import pytest
from django.apps import apps
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from runs.models import Event, Run
from tests.api.cast import Caller, fresh_token, reservation
from tests.api.test_lists import ids
from tests.api.test_lost_answers import TWINS, at_once
from tests.api.verbs import Call, Cast
from tests.cases.waiting_verbs import FURTHER_VERBS
from tests.soundness import assert_sound

NEIGHBOURS = ["Order-7", "order-7", "ORDER-7"]


def finished(cast: Cast, **changes: Any) -> str:
    """The id of a run that has ended."""
    run_id = cast.client.reserve(**changes)
    token = cast.runner.run(run_id)
    assert cast.runner.post(f"runs/{run_id}/complete", {"token": token, "output": 1}).status == 200
    return run_id


def restart(cast: Cast, parent: str, **changes: Any) -> dict[str, Any]:
    """A body that restarts this run."""
    seen = cast.client.get(f"runs/{parent}").body
    lineage = {"parent_run_id": parent, "lineage_kind": "restart", "parent_run_revision": seen["revision"]}
    return reservation(origin_session_id=seen["origin_session_id"], **lineage, **changes)


@pytest.mark.parametrize("is_over", [False, True], ids=["queued", "finished"])
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"input": {"a": 1, "b": 2}}, "input"),
        ({"workflow_name": "other"}, "workflow_name"),
        ({"input": {"a": "1"}}, "input"),
    ],
)
def test_other_content_is_a_mismatch_while_the_first_waits_and_when_it_is_over(
    cast: Cast, stranger: Caller, is_over: bool, changes: dict[str, Any], field: str
) -> None:
    """IDEM-1: the run id is the key of a reservation; its scope is the project."""
    body = reservation(input={"a": 1})
    assert cast.client.post("runs", body).status == 201
    path = f"runs/{body['run_id']}"
    if is_over:
        cast.runner.post(f"{path}/complete", {"token": cast.runner.run(body["run_id"]), "output": 1})
    first = cast.client.get(path).content
    del body["run_id"]

    same = cast.client.put(path, {**dict(reversed(body.items())), "input": {"a": 1.0}})
    other = cast.client.put(path, {**body, **changes})
    elsewhere = stranger.put(path, {**body, **changes})

    assert (same.status, same.body["state"]) == (200, "adopted")
    assert (other.problem[0], field in other.body["fields"]) == (409, True)
    assert (cast.client.get(path).content, elsewhere.status) == (first, 201)


@pytest.mark.django_db(transaction=True)
def test_of_different_reservations_of_an_id_at_once_one_is_made_and_the_rest_are_mismatches(
    transactional_db: None, client: Caller
) -> None:
    """IDEM-1: while the first is in flight."""
    bodies = [reservation(run_id="twin", input=number) for number in range(TWINS)]
    for body in bodies:
        del body["run_id"]

    replies = at_once([lambda body=body: Caller(client.secret).put("runs/twin", body) for body in bodies])  # type: ignore[misc]

    assert sorted(reply.status for reply in replies) == [201] + [409] * (TWINS - 1)
    assert {reply.code for reply in replies} == {None, "preparation_conflict"}
    assert (Run.objects.count(), Event.objects.count()) == (1, 1)


def _restart(cast: Cast) -> Call:
    return Call(cast.client, "POST", "runs", restart(cast, finished(cast)))


LOST = {"restart": _restart, **{verb: FURTHER_VERBS[verb] for verb in ("submit", "answer_decision", "apply_effect")}}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verb", LOST)
def test_a_commit_that_landed_is_found_by_the_repeat(
    transactional_db: None, cast: Cast, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IDEM-2 for restarting and answering."""
    call = LOST[verb](cast)
    backend = type(connections["default"])
    commit = backend.commit

    def landed(self: BaseDatabaseWrapper) -> None:
        commit(self)
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(backend, "commit", landed)
    lost = call.send(key="one")
    monkeypatch.undo()
    events = Event.objects.count()

    repeated = call.send(key="one")

    assert lost.problem == (503, "busy")
    assert (repeated.status in (200, 201), repeated.headers["Idempotency-Replayed"]) == (True, "true")
    assert Event.objects.count() == events
    assert_sound()


def test_an_id_used_again_after_deletion_starts_empty(cast: Cast) -> None:
    """IDEM-3: nothing of the old run is left to be taken for the new one's."""
    call = FURTHER_VERBS["end_turn"](cast)
    assert call.send().status == 200
    run_id = call.path.split("/")[1]
    path = f"runs/{run_id}"
    cast.operator.post(f"{path}/pause", {})
    cast.operator.post(f"{path}/unpause", {})
    token = cast.runner.run(run_id)
    cast.runner.post(f"{path}/attempts", {"token": token, "node_id": "walk", "attempt_id": "w1"})
    cast.runner.post(f"{path}/attempts/w1/complete", {"token": token, "output": 1})

    assert cast.operator.post(f"{path}/delete", {"token": token}).body == {"run_id": run_id, "deleted": True}
    left = {
        model.__name__: model._default_manager.count()
        for model in apps.get_app_config("runs").get_models()
        if any(field.is_relation and field.related_model is Run for field in model._meta.concrete_fields)
    }
    cast.client.reserve(run_id=run_id)
    token = cast.runner.run(run_id)
    again = cast.runner.post(f"{path}/attempts", {"token": token, "node_id": "walk", "attempt_id": "w1"})

    assert left == dict.fromkeys(left, 0)
    assert (again.status, again.body["attempt_number"], again.body["generation"]) == (201, 1, 1)
    cast.runner.post(f"{path}/attempts/w1/complete", {"token": token, "output": 2})
    done = cast.runner.post(f"{path}/complete", {"token": token, "output": "new"})
    assert (done.status, done.body["status"]) == (200, "completed")


def test_keys_that_differ_in_case_restart_different_runs_and_find_no_neighbour(cast: Cast) -> None:
    """IDEM-4: as ids, as filters, as keys of restarts."""
    parents = {name: finished(cast, run_id=name, origin_session_id=name, input=name) for name in NEIGHBOURS}
    bodies = {name: restart(cast, parent, run_id=f"after-{name}") for name, parent in parents.items()}

    made = {name: cast.client.post("runs", body, key=name) for name, body in bodies.items()}
    again = {name: cast.client.post("runs", body, key=name) for name, body in bodies.items()}

    for name in NEIGHBOURS:
        assert (made[name].status, made[name].body["parent_run_id"]) == (201, name)
        assert again[name].content == made[name].content
        assert ids(cast.client, f"?run_id_prefix={name}") == [name]
        assert ids(cast.client, f"?origin_session_id={name}") == [f"after-{name}", name]
        assert cast.client.get(f"session-reservation?session={name}").body["run_id"] == f"after-{name}"


@pytest.mark.parametrize("key", ["Order-7 ", " Order-7", "x" * 201])
def test_outer_blanks_and_one_character_too_many_are_refused_or_no_part_of_the_key(cast: Cast, key: str) -> None:
    """IDEM-4: a header's own blanks are taken off by the web server before anybody compares."""
    run_id = finished(cast, run_id="Order-7")

    refused = [cast.client.post("runs", restart(cast, run_id), key=key) for _ in range(2)]
    named = cast.client.post("runs", reservation(run_id=key))
    claimed = cast.runner.post("claims", {"owner_id": key, "workflows": ["inventory"], "tokens": [fresh_token()]})

    assert {reply.problem for reply in refused} == {(400, "invalid_idempotency_key")}
    assert (named.problem, claimed.problem) == ((400, "invalid_run_id"), (400, "invalid_request"))
