"""The outbox over the wire: what runners report of their effects, and how those in doubt are settled."""

import hashlib
from typing import Any

import pytest

from runs.models import Effect
from tests.api.cast import Caller, fresh_token
from tests.api.effect_verbs import EFFECT_VERBS, MAIL, in_doubt, reserve, running, start
from tests.api.verbs import Call, Cast, changed, places
from tests.builders import FrozenClock, Picture, snapshot_of_everything


@pytest.fixture(params=sorted(EFFECT_VERBS))
def call(request: pytest.FixtureRequest, cast: Cast) -> Call:
    """Each of the verbs, ready to be made."""
    made = EFFECT_VERBS[request.param](cast)
    made.caller.get("nowhere")
    return made


def picture() -> Picture:
    """All rows, apart from when a token was used."""
    everything = snapshot_of_everything()
    del everything["runs_accesstoken"]
    return everything


def test_an_effect_from_its_reservation_to_its_result(cast: Cast, frozen: FrozenClock) -> None:
    run_id, token = running(cast)

    reserved = cast.runner.post(f"runs/{run_id}/effects", {"token": token, **MAIL})
    address = f"runs/{run_id}/effects/{reserved.body['effect_id']}"
    started = cast.runner.post(f"{address}/start", {"token": token})
    applied = cast.runner.post(f"{address}/apply", {"token": token, "number": 1, "result": {"id": 7}})

    form = f"{len(run_id)}:{run_id}9:mail.send7:order-7"
    at = "2026-12-01T03:00:00.000Z"
    effect = {
        "run_id": run_id,
        "effect_id": hashlib.sha256(form.encode()).hexdigest(),
        "effect_type": "mail.send",
        "idempotency_key": "order-7",
        "outside_key": Effect.objects.get().outside_key,
        "status": "pending",
        "payload_digest": "sha256:" + hashlib.sha256(b'{"to":"x@example.org"}').hexdigest(),
        "error_message": None,
        "attempt_count": 0,
        "next_attempt_at": None,
        "revision": 1,
        "created_at": at,
        "updated_at": at,
        "settled_at": None,
        "result": None,
        "retry_in_ms": None,
    }
    assert (reserved.status, reserved.body) == (201, effect)
    assert started.body == effect | {"status": "applying", "attempt_count": 1, "revision": 2, "number": 1}
    done = {"status": "applied", "attempt_count": 1, "revision": 3, "settled_at": at, "result": {"id": 7}}
    assert applied.body == effect | done
    assert cast.client.get(address).body == effect | done | {
        "payload": {"to": "x@example.org"},
        "tries": [
            {
                "number": 1,
                "generation": 1,
                "owner_id": "host-a",
                "outcome": "applied",
                "error_message": None,
                "started_at": at,
                "finished_at": at,
            }
        ],
    }


def test_the_same_effect_again_is_adopted_with_its_result(cast: Cast) -> None:
    call = EFFECT_VERBS["apply_effect"](cast)
    call.send()
    run_id = call.path.split("/")[1]

    reply = cast.runner.post(f"runs/{run_id}/effects", {"token": call.body["token"], **MAIL})

    assert (reply.status, reply.body["status"], reply.body["result"]) == (200, "applied", {"id": 7})


def test_another_payload_is_a_conflict(cast: Cast) -> None:
    call = EFFECT_VERBS["reserve_effect"](cast)
    call.send()

    reply = call.send({**call.body, "payload": {"to": "y@example.org"}})

    assert (reply.problem, reply.body["action"]) == ((409, "effect_conflict"), "mend")


def test_a_retry_says_how_long_it_takes(cast: Cast, frozen: FrozenClock) -> None:
    call = EFFECT_VERBS["reject_effect"](cast)
    address, token = call.path.rsplit("/", 1)[0], call.body["token"]

    rejected = call.send({**call.body, "retry_in_ms": 9_500})
    frozen.advance(2_000)
    early = cast.runner.post(f"{address}/start", {"token": token})
    frozen.advance(7_500)
    due = cast.runner.post(f"{address}/start", {"token": token})

    told = rejected.body
    assert (told["status"], told["retry_in_ms"], told["next_attempt_at"]) == (
        "pending",
        9_500,
        "2026-12-01T03:00:09.500Z",
    )
    assert (early.problem, early.body["retry_in_ms"], early.headers["Retry-After"]) == (
        (409, "effect_not_due"),
        7_500,
        "8",
    )
    assert due.body["number"] == 2


def test_without_a_retry_it_is_rejected_for_good(cast: Cast) -> None:
    call = EFFECT_VERBS["reject_effect"](cast)

    reply = call.send({**call.body, "retry_in_ms": None})

    assert (reply.body["status"], reply.body["error_message"]) == ("rejected", "No such address.")


def test_a_lost_runners_effect_comes_back_in_doubt(cast: Cast, other_runner: Caller, frozen: FrozenClock) -> None:
    run_id, token = running(cast)
    address = reserve(cast.runner, run_id, token)
    start(cast.runner, address, token)
    frozen.advance(30_000)
    second = other_runner.run(run_id)

    again = other_runner.post(f"{address}/start", {"token": second})

    assert (again.status, again.body["status"], again.body["number"]) == (200, "ambiguous", None)
    assert cast.runner.post(f"{address}/start", {"token": token}).problem == (409, "lease_lost")


def test_the_outcome_of_an_effect_in_flight_is_recorded_though_its_run_is_cancelled(cast: Cast) -> None:
    call = EFFECT_VERBS["apply_effect"](cast)
    run_id = call.path.split("/")[1]
    cast.operator.post(f"runs/{run_id}/cancel")

    reply, again = call.send(), call.send()

    assert (reply.status, reply.body["status"], reply.body["result"]) == (200, "applied", {"id": 7})
    assert again.problem == (409, "run_cancelled")
    assert cast.client.get(f"runs/{run_id}").body["status"] == "cancelled"


def test_an_operator_settles_once_under_its_name(cast: Cast) -> None:
    call = EFFECT_VERBS["settle_effect"](cast)

    first, second = call.send(), call.send()

    assert (first.status, first.body["status"], first.body["result"]) == (200, "applied", {"id": 7})
    assert second.problem == (409, "effect_settled")
    assert second.body["effect_status"] == "applied"
    run_id = call.path.split("/")[1]
    event = cast.client.get(f"runs/{run_id}/events").body["results"][-1]
    assert (event["type"], event["actor_id"]) == ("effect.applied", "operator")
    assert event["payload"]["reason"] == "It is in the provider's log."


def test_a_repeat_under_the_same_key_gets_the_same_answer(call: Call) -> None:
    first, again = call.send(key="one"), call.send(key="one")

    assert first.status in (200, 201)
    assert (again.status, again.body, again.headers["Idempotency-Replayed"]) == (first.status, first.body, "true")


@pytest.mark.parametrize(
    ("verb", "changes", "faulty"),
    [
        ("settle_effect", {"reason": None}, ["reason"]),
        ("settle_effect", {"number": 1}, ["number"]),
        ("settle_effect", {"result": 1, "error_message": "No."}, ["error_message", "result"]),
        ("settle_effect", {"outcome": "ambiguous"}, ["outcome"]),
        ("settle_own_try", {"number": None}, ["number"]),
        ("settle_own_try", {"reason": "It is there.", "evidence": 1}, ["evidence", "reason"]),
    ],
)
def test_there_are_two_ways_of_settling(cast: Cast, verb: str, changes: dict[str, Any], faulty: list[str]) -> None:
    call = EFFECT_VERBS[verb](cast)
    body = {name: value for name, value in (call.body | changes).items() if value is not None}

    reply = call.send(body)

    assert (reply.problem, sorted(reply.body["errors"])) == ((400, "invalid_request"), faulty)


def test_a_reason_of_blanks_is_none(cast: Cast) -> None:
    call = EFFECT_VERBS["settle_effect"](cast)

    assert call.send({**call.body, "reason": "  "}).problem == (400, "invalid_request")


def test_no_other_token_settles_a_try_as_its_own(cast: Cast) -> None:
    call = EFFECT_VERBS["settle_own_try"](cast)

    assert call.send({**call.body, "token": fresh_token()}).problem == (409, "not_own_try")


def test_many_effects_are_reserved_at_once_each_with_an_outcome(cast: Cast) -> None:
    run_id, token = running(cast)
    reserve(cast.runner, run_id, token)
    items = [{**MAIL, "idempotency_key": "new"}, MAIL, {**MAIL, "payload": 1}, {"effect_type": "mail.send"}, 7]

    reply = cast.runner.post(f"runs/{run_id}/effects/batch", {"token": token, "items": items})

    results = reply.body["results"]
    assert [result.get("made") for result in results] == [True, False, None, None, None]
    assert [result.get("problem", {}).get("code") for result in results] == [
        None,
        None,
        "effect_conflict",
        "invalid_request",
        "invalid_request",
    ]
    assert [sorted(result) for result in results[1:3]] == [["effect", "made", "ok"], ["ok", "problem"]]


def test_a_batch_without_the_lease_is_refused_as_a_whole(cast: Cast) -> None:
    call = EFFECT_VERBS["reserve_effects"](cast)

    assert call.send({**call.body, "token": fresh_token()}).problem == (409, "lease_lost")


def test_a_runs_effects_are_listed_in_pages_and_by_status(cast: Cast) -> None:
    run_id, token = running(cast)
    addresses = [reserve(cast.runner, run_id, token, idempotency_key=f"order-{n}") for n in range(5)]
    start(cast.runner, addresses[1], token)

    first = cast.client.get(f"runs/{run_id}/effects?limit=3").body
    rest = cast.client.get(f"runs/{run_id}/effects?limit=3&cursor={first['next']}").body
    applying = cast.client.get(f"runs/{run_id}/effects?status=applying,applied").body

    keys = [effect["idempotency_key"] for effect in first["results"] + rest["results"]]
    assert keys == [f"order-{n}" for n in range(5)]
    assert (rest["next"], [effect["idempotency_key"] for effect in applying["results"]]) == (None, ["order-1"])
    assert "payload" not in first["results"][0]
    assert "result" not in first["results"][0]


@pytest.mark.parametrize("query", ["status=done", "status=pending,", "status=", "cursor=x", "limit=0", "kind=x"])
def test_a_list_takes_no_nonsense(cast: Cast, query: str) -> None:
    run_id, _ = running(cast)

    assert cast.client.get(f"runs/{run_id}/effects?{query}").status == 400


def test_what_needs_a_person_is_one_list_for_the_project(cast: Cast, stranger: Caller) -> None:
    one, other = in_doubt(cast)[0], in_doubt(cast)[0]
    EFFECT_VERBS["apply_effect"](cast).send()
    cast.operator.post(f"{one.split('/effects')[0]}/cancel")

    first = cast.operator.get("effects?status=ambiguous&limit=1").body
    rest = cast.operator.get(f"effects?cursor={first['next']}").body

    listed = [f"runs/{each['run_id']}/effects/{each['effect_id']}" for each in first["results"] + rest["results"]]
    assert listed == [one, other]
    assert stranger.get("effects").body["results"] == []
    assert cast.operator.get("effects?status=applied").problem == (400, "invalid_request")


def test_reading_needs_its_scope(cast: Cast) -> None:
    address, _ = in_doubt(cast)

    for path in (address, address.rsplit("/", 1)[0], "effects"):
        assert cast.runner.get(path).problem == (403, "scope_missing")


def test_every_verb_needs_its_scope(cast: Cast, call: Call) -> None:
    others = {cast.client, cast.runner, cast.operator} - {call.caller}

    assert {other.send("POST", call.path, call.body).problem for other in others} == {(403, "scope_missing")}
    assert call.send().status in (200, 201)


def test_another_projects_effect_is_not_found(stranger: Caller, call: Call) -> None:
    run_id, address = call.path.split("/")[1], call.path.rsplit("/", 1)[0]
    stranger.get("runs")
    before = snapshot_of_everything()

    theirs = stranger.send("POST", call.path, call.body)
    never = stranger.send("POST", call.path.replace(run_id, "never-reserved"), call.body)

    assert theirs.problem == never.problem == (404, "not_found")
    assert theirs.content.replace(run_id.encode(), b"never-reserved") == never.content
    assert stranger.get(address).problem == (404, "not_found")
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("effect_id", ["0" * 64, "nothing", "0" * 63, "F" * 64, "%00"])
def test_an_effect_that_is_not_there_is_not_found(cast: Cast, effect_id: str) -> None:
    run_id, token = running(cast)

    assert cast.client.get(f"runs/{run_id}/effects/{effect_id}").problem == (404, "not_found")
    assert cast.runner.post(f"runs/{run_id}/effects/{effect_id}/start", {"token": token}).problem == (404, "not_found")


MISTYPED: list[object] = [None, True, 1.5, -1, 2**70, "", [], [1], {}, {"a": 1}]


def test_no_member_takes_a_value_of_another_type(call: Call) -> None:
    before = picture()

    for place in places(call.body):
        if {"payload", "result", "evidence"} & set(place) or place[-1] in ("reason", "error_message"):
            continue
        for value in MISTYPED:
            if value is None and place[-1] == "retry_in_ms":
                continue
            reply = call.send(changed(call.body, place, value))

            if reply.status == 200:
                assert not any(result["ok"] for result in reply.body["results"]), (place, value)
            else:
                assert 400 <= reply.status < 500, (place, value, reply.content)
    assert picture() == before


def test_unknown_members_are_refused(call: Call) -> None:
    assert call.send({**call.body, "extra": 1}).problem == (400, "invalid_request")


@pytest.mark.parametrize(
    ("verb", "member", "most"),
    [("reserve_effect", "payload", 2**20), ("apply_effect", "result", 2**20), ("settle_effect", "evidence", 65_536)],
)
def test_every_document_has_a_limit_and_says_its_place(cast: Cast, verb: str, member: str, most: int) -> None:
    call = EFFECT_VERBS[verb](cast)

    refused = call.send({**call.body, member: "x" * (most - 1)})
    taken = call.send({**call.body, member: "x" * (most - 2)})

    assert (refused.problem, refused.body["place"]) == ((413, "payload_too_large"), f"/{member}")
    assert taken.status in (200, 201)


@pytest.mark.parametrize("effect_type", ["run.park_queue", "run.settle_queue"])
def test_the_queues_own_types_are_refused(cast: Cast, effect_type: str) -> None:
    call = EFFECT_VERBS["reserve_effect"](cast)

    assert call.send({**call.body, "effect_type": effect_type}).problem == (400, "invalid_request")


def test_big_integers_keep_every_digit(cast: Cast) -> None:
    number = int("1234567890" * 4)
    call = EFFECT_VERBS["apply_effect"](cast)

    applied = call.send({**call.body, "result": number}, key="one")
    again = call.send({**call.body, "result": number}, key="one")

    assert applied.body["result"] == again.body["result"] == number
