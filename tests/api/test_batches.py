"""Batches over the wire: an outcome for each item, in the order asked."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs.models import Run
from tests.api.cast import reservation
from tests.api.verbs import BATCHES, VERBS, Call, Cast


def items_of(call: Call) -> list[dict[str, Any]]:
    (items,) = (value for value in call.body.values() if isinstance(value, list))
    return list(items)


def test_runs_are_reserved_together_and_the_refused_ones_alone_are_refused(cast: Cast) -> None:
    standing = cast.client.reserve()
    good, twin = reservation(), reservation()
    items = [good, reservation(run_id=standing), twin, twin, reservation(run_id="-"), reservation(input=[[]] * 3)]

    results = cast.client.post("batch/reserve", {"items": items}).body["results"]

    assert [result["run_id"] for result in results] == [item["run_id"] for item in items]
    assert [result["ok"] or result["problem"]["code"] for result in results] == [
        True, "already_reserved", True, "duplicate_item", "invalid_run_id", True,
    ]  # fmt: skip
    assert results[0]["run"]["status"] == "queued"
    assert Run.objects.count() == 4


@pytest.mark.parametrize(
    ("verb", "status"), [("running", "running"), ("park", "parked"), ("complete", "done"), ("fail", "failed")]
)
def test_runs_that_are_held_move_together(cast: Cast, verb: str, status: str) -> None:
    more = {"error_code": "x", "error_message": "y"} if verb == "fail" else {}
    runs = [cast.client.reserve() for _ in range(3)]
    items = [{"run_id": run_id, "token": cast.runner.run(run_id), **more} for run_id in runs]
    items[1]["token"] = "x" * 43

    results = cast.runner.post(f"batch/{verb}", {"items": items}).body["results"]

    assert [result["run_id"] for result in results] == runs
    assert [result["ok"] or result["problem"]["code"] for result in results] == [True, "lease_lost", True]
    assert {result["run"]["queue_status"] for result in results if result["ok"]} == {status}
    assert [set(result) for result in results] == [{"run_id", "ok", member} for member in ("run", "problem", "run")]


def test_a_batch_asks_for_every_scope_that_its_items_need(cast: Cast) -> None:
    held = items_of(VERBS["fail_all"](cast))[0]
    unheld = {"run_id": cast.client.reserve(), "error_code": "x", "error_message": ""}

    by_runner = cast.runner.post("batch/fail", {"items": [held, unheld]})
    by_operator = cast.operator.post("batch/fail", {"items": [held, unheld]})

    assert (by_runner.problem, by_runner.body["scope"]) == ((403, "scope_missing"), "runs:control")
    assert (by_operator.problem, by_operator.body["scope"]) == ((403, "scope_missing"), "runs:execute")
    assert cast.operator.post("batch/fail", {"items": [unheld]}).body["results"][0]["ok"]


@pytest.mark.parametrize("verb", BATCHES)
def test_a_batch_has_from_one_to_a_hundred_items(cast: Cast, verb: str) -> None:
    call = VERBS[verb](cast)
    ((member, items),) = ((name, value) for name, value in call.body.items() if isinstance(value, list))

    wrongs: list[object] = [[], items * 101, None, {}, "x"]
    for wrong in wrongs:
        refused = call.send({member: wrong})
        assert refused.problem == (400, "invalid_request")
        assert list(refused.body["errors"]) == [member]
    assert len(call.send({member: items * 100}).body["results"]) == 100


@pytest.mark.parametrize("verb", ["running", "park", "complete"])
def test_a_batch_costs_the_same_number_of_statements_however_many_it_moves(cast: Cast, verb: str) -> None:
    def statements(number: int) -> int:
        runs = [cast.client.reserve() for _ in range(number)]
        items = [{"run_id": run_id, "token": cast.runner.run(run_id)} for run_id in runs]
        with CaptureQueriesContext(connection) as captured:
            reply = cast.runner.post(f"batch/{verb}", {"items": items})
        assert all(result["ok"] for result in reply.body["results"])
        return len(captured)

    assert statements(8) == statements(2)
