"""Durable steps over the wire: started once, done once, given back to who comes after."""

from tests.api.cast import LEASE_MS, Caller
from tests.api.verbs import VERBS, Cast
from tests.builders import FrozenClock


def test_an_attempt_started_again_while_open_is_the_same_one(cast: Cast) -> None:
    call = VERBS["start_attempt"](cast)

    first, second = call.send(), call.send()

    assert (first.status, second.status) == (201, 200)
    assert first.body == second.body
    assert first.body == {
        "attempt_id": "walk-1",
        "node_id": "walk",
        "node_type": "step",
        "attempt_number": 1,
        "status": "running",
        "generation": 1,
        "input": {"folder": "/srv"},
        "output": None,
        "error_message": None,
        "progress": None,
        "timeout_ms": 60_000,
        "started_at": first.body["started_at"],
        "updated_at": first.body["started_at"],
        "finished_at": None,
    }


def test_a_node_that_was_done_is_given_back_with_its_output(
    cast: Cast, other_runner: Caller, frozen: FrozenClock
) -> None:
    call = VERBS["complete_attempt"](cast)
    call.send()
    run_id = call.path.split("/")[1]
    frozen.advance(LEASE_MS)
    token = other_runner.run(run_id)

    start = {"token": token, "node_id": "walk", "attempt_id": "walk-2"}
    given_back = other_runner.post(f"runs/{run_id}/attempts", start)

    assert (given_back.status, given_back.body["status"]) == (200, "completed")
    assert (given_back.body["attempt_id"], given_back.body["output"]) == ("walk-1", {"files": 3})


def test_a_failed_attempt_leaves_the_node_to_be_tried_again(cast: Cast) -> None:
    call = VERBS["fail_attempt"](cast)
    run_id = call.path.split("/")[1]

    failed = call.send()
    retried = cast.runner.post(
        f"runs/{run_id}/attempts", {"token": call.body["token"], "node_id": "walk", "attempt_id": "walk-2"}
    )

    assert (failed.body["status"], failed.body["error_message"]) == ("failed", "It broke.")
    assert (retried.status, retried.body["attempt_number"]) == (201, 2)


def test_an_attempt_that_is_over_or_was_never_made_takes_nothing_more(cast: Cast) -> None:
    call = VERBS["complete_attempt"](cast)
    call.send()

    again = call.send()
    never = cast.runner.post(call.path.replace("walk-1", "walk-9"), call.body)

    assert (again.problem, again.body["attempt_status"]) == ((409, "attempt_settled"), "completed")
    assert never.problem == (404, "not_found")


def test_an_attempt_id_stands_for_one_node_and_a_node_has_one_open_attempt(cast: Cast) -> None:
    call = VERBS["start_attempt"](cast)
    call.send()

    other_node = call.send({**call.body, "node_id": "hash"})
    other_attempt = call.send({**call.body, "attempt_id": "walk-2"})

    assert other_node.problem == (409, "attempt_conflict")
    assert other_attempt.problem == (409, "attempt_open")


def test_steps_are_of_runs_that_run(cast: Cast) -> None:
    run_id = cast.client.reserve()
    body = {"token": cast.runner.claim(run_id), "node_id": "walk", "attempt_id": "walk-1"}

    assert cast.runner.post(f"runs/{run_id}/attempts", body).problem == (409, "not_running")


def test_attempts_are_listed_in_the_order_in_which_they_were_started(cast: Cast) -> None:
    run_id = cast.client.reserve()
    token = cast.runner.run(run_id)
    for number in range(5):
        body = {"token": token, "node_id": f"node-{number}", "attempt_id": f"a:{number}"}
        assert cast.runner.post(f"runs/{run_id}/attempts", body).status == 201

    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = cast.client.get(f"runs/{run_id}/attempts?limit=2{cursor}").body
        seen += [attempt["attempt_id"] for attempt in page["results"]]
        cursor = page["next"] and f"&cursor={page['next']}"

    assert seen == [f"a:{number}" for number in range(5)]
