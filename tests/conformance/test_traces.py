"""Every trace, replayed on the database of this run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runs.verify import violations
from tests.conformance.driver import Driver
from tests.conformance.fixtures import FIXTURES
from tests.conformance.viewer import Viewer

DATA = Path(__file__).parent.parent / "data" / "conformance"
TRACES = sorted(DATA.glob("*/*.json"))
# Fixtures that write states to which no verb leads; everywhere else the queue's own proof holds at the end.
IMPOSSIBLE = {"set_run_status", "set_queue_status", "set_paused", "set_attempt_status", "set_request_status"}


@pytest.fixture
def driver(transactional_db: None) -> Driver:
    return Driver()


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_trace_gives_the_same_answers_and_the_same_state(path: Path, driver: Driver) -> None:
    trace = json.loads(path.read_text())
    driver.answer({"op": "reset", "args": trace["options"], "now": trace["steps"][0]["now"]})
    viewer = Viewer()

    for number, step in enumerate(trace["steps"]):
        answer = driver.answer(step)
        if step["op"] in FIXTURES:
            viewer.look()
        else:
            assert _comparable(answer) == _comparable(step), f"step {number}: {step['op']}"
            viewer.follow()

    final = driver.answer({"op": "dump", "args": {}, "now": trace["steps"][-1]["now"]})["result"]
    assert list(_differences(trace["final"], final)) == []
    if not IMPOSSIBLE & {step["op"] for step in trace["steps"]}:
        # Of a fixture no event tells viewers.
        assert [str(violation) for violation in violations() if violation.rule != "view"] == []


def _comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """What is compared of an answer: its result, or which check spoke."""
    if "error" in answer:
        return {"error_code": answer["error_code"], "error_kind": answer["error_kind"]}
    return {"result": _strict(answer["result"])}


def _strict(value: Any) -> Any:
    """The value with its truth values told apart from 0 and 1."""
    match value:
        case bool():
            return ("bool", value)
        case dict():
            return {name: _strict(member) for name, member in value.items()}
        case list():
            return [_strict(element) for element in value]
        case _:
            return value


def _differences(expected: Any, actual: Any, place: str = "") -> Iterator[str]:
    """Where two states differ; the queue's own events may hold more in their payload than the trace shows."""
    match expected, actual:
        case dict(), dict():
            names = expected.keys() if place.endswith("/payload") else expected.keys() | actual.keys()
            for name in sorted(names):
                yield from _differences(expected.get(name), actual.get(name), f"{place}/{name}")
        case list(), list() if len(expected) == len(actual):
            for number, pair in enumerate(zip(expected, actual, strict=True)):
                yield from _differences(*pair, f"{place}/{number}")
        case _ if _strict(expected) != _strict(actual):
            yield f"{place}: expected {expected!r}, got {actual!r}"
