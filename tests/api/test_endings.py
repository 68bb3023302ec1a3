"""Complete, fail and cancel over the wire: by the holder, and from outside."""

import pytest

from runs.models import Event
from tests.api.cast import Caller
from tests.api.verbs import VERBS, Cast


def test_a_completed_run_keeps_its_output_and_no_owner(cast: Cast) -> None:
    call = VERBS["complete"](cast)

    done = call.send()

    assert (done.body["status"], done.body["queue_status"], done.body["display_status"]) == (
        "completed", "done", "completed",
    )  # fmt: skip
    assert done.body["lease"] == {
        "generation": 1,
        "owner_type": None,
        "owner_id": None,
        "acquired_at": None,
        "heartbeat_at": None,
        "expires_at": None,
    }
    assert done.body["finished_at"] == done.body["updated_at"]
    assert "output" not in done.body


@pytest.mark.parametrize("output", [{}, [], "", 0, None, False, {"": {"": []}}])
def test_any_json_value_is_an_output(cast: Cast, output: object) -> None:
    call = VERBS["complete"](cast)

    assert call.send({**call.body, "output": output}).status == 200
    assert cast.client.get(call.path.removesuffix("/complete")).body["output"] == output


def test_an_output_left_out_is_null(cast: Cast) -> None:
    call = VERBS["complete"](cast)

    assert call.send({"token": call.body["token"]}).status == 200
    assert cast.client.get(call.path.removesuffix("/complete")).body["output"] is None


def test_a_failed_run_keeps_code_and_message(cast: Cast) -> None:
    failed = VERBS["fail"](cast).send()

    assert (failed.body["status"], failed.body["queue_status"]) == ("failed", "failed")
    assert (failed.body["error_code"], failed.body["error_message"]) == ("broken", "It broke.")


def test_an_operator_fails_what_nobody_has_begun_and_nothing_else(cast: Cast) -> None:
    call = VERBS["fail_unbegun"](cast)
    begun = VERBS["fail"](cast)

    refused = cast.operator.post(begun.path, call.body)

    assert call.send().body["status"] == "failed"
    assert (refused.status, refused.body["action"]) == (409, "stop")
    assert begun.send().status == 200


def test_a_run_is_cancelled_from_outside_over_a_live_lease(cast: Cast) -> None:
    run_id = cast.client.reserve()
    token = cast.runner.run(run_id)

    cancelled = cast.operator.post(f"runs/{run_id}/cancel", {"reason": "Nobody wants it."})

    assert (cancelled.status, cancelled.body["status"], cancelled.body["queue_status"]) == (
        200, "cancelled", "cancelled",
    )  # fmt: skip
    assert cancelled.body["lease"]["generation"] == 2
    event = cast.client.get(f"runs/{run_id}/events").body["results"][-1]
    assert (event["actor_type"], event["actor_id"]) == ("control", "operator")
    assert event["payload"]["reason"] == "Nobody wants it."
    late = cast.runner.post(f"runs/{run_id}/complete", {"token": token})
    assert late.problem == (409, "run_cancelled")


def test_a_holder_cancels_its_run_and_gives_no_reason(cast: Cast) -> None:
    call = VERBS["cancel_held"](cast)

    assert call.send({**call.body, "reason": "x"}).problem == (400, "invalid_request")
    assert call.send().body["status"] == "cancelled"


@pytest.mark.parametrize("verb", ["cancel_held", "fail", "record_event"])
def test_a_null_token_is_no_call_from_outside(cast: Cast, verb: str) -> None:
    call = VERBS[verb](cast)
    events = Event.objects.count()

    assert call.send({**call.body, "token": None}).problem == (400, "invalid_request")
    assert Event.objects.count() == events


@pytest.mark.parametrize("verb", ["cancel", "fail_unbegun"])
def test_what_is_over_stays_as_it_ended(cast: Cast, verb: str) -> None:
    call = VERBS[verb](cast)
    call.send()

    again = call.send()

    assert again.status == 409
    assert again.code in ("run_cancelled", "run_finished")
    assert again.body["action"] == "stop"


def test_a_note_says_who_wrote_it_and_may_follow_the_end(cast: Cast) -> None:
    run_id = VERBS["cancel"](cast).send().body["run_id"]

    note = cast.client.post(f"runs/{run_id}/events", {"type": "seen"})

    assert (note.status, note.body["actor_type"], note.body["actor_id"]) == (201, "control", "client")
    assert (note.body["payload"], note.body["run_id"]) == ({}, run_id)


@pytest.mark.parametrize("payload", [{}, [1], "text", 0, None, {"n": 2**70}])
def test_any_json_value_is_a_payload(client: Caller, payload: object) -> None:
    run_id = client.reserve()

    note = client.post(f"runs/{run_id}/events", {"type": "seen", "payload": payload})

    assert note.body["payload"] == payload
    assert client.get(f"runs/{run_id}/events").body["results"][-1] == note.body
