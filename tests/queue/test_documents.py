"""What may be stored: the same answer for every place where text or a document comes in, and nothing changed."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import Settings

from runs import errors, transitions
from runs.models import Project
from runs.transitions import AttemptStart, Completion, Failure, Note
from tests.builders import OPERATOR, Made, RunBuilder, snapshot_of_everything

Send = Callable[[RunBuilder, Made, Any], object]

# Every place where a document comes in.
DOCUMENTS: dict[str, Send] = {
    "input": lambda make, held, value: make.queued(input=value),
    "launch options": lambda make, held, value: make.queued(launch_options={"x": value}),
    "snapshot": lambda make, held, value: make.queued(workflow_name="new", definition_snapshot=value),
    "output": lambda make, held, value: transitions.complete(make.project, Completion(held.run_id, held.token, value)),
    "payload": lambda make, held, value: transitions.record_event(
        make.project, Note(held.run_id, "seen", {"x": value}, held.token), OPERATOR
    ),
    "note": lambda make, held, value: transitions.record_event(
        make.project, Note(held.run_id, "seen", {"x": value}), OPERATOR
    ),
    "attempt's input": lambda make, held, value: transitions.start_attempt(
        make.project, held.hold, AttemptStart("new", "another node", input=value)
    ),
    "progress": lambda make, held, value: transitions.progress_attempt(
        make.project, held.hold, transitions.Observation("open", value)
    ),
    "attempt's output": lambda make, held, value: transitions.complete_attempt(make.project, held.hold, "open", value),
}
# Every place where plain text comes in that is not an id.
TEXTS: dict[str, Send] = {
    "workflow name": lambda make, held, text: make.queued(workflow_name=text, definition_digest="a" * 64),
    "workflow ref": lambda make, held, text: make.queued(workflow_ref=text),
    "session": lambda make, held, text: make.queued(origin_session_id=text),
    "error code": lambda make, held, text: transitions.fail(
        make.project, Failure(held.run_id, text, "It broke.", held.token)
    ),
    "error message": lambda make, held, text: transitions.fail(
        make.project, Failure(held.run_id, "broken", text, held.token)
    ),
    "event type": lambda make, held, text: transitions.record_event(make.project, Note(held.run_id, text), OPERATOR),
    "reason": lambda make, held, text: transitions.cancel(make.project, held.run_id, OPERATOR, text),
    "node id": lambda make, held, text: transitions.start_attempt(make.project, held.hold, AttemptStart("new", text)),
    "attempt id": lambda make, held, text: transitions.start_attempt(
        make.project, held.hold, AttemptStart(text, "another node")
    ),
    "attempt's error": lambda make, held, text: transitions.fail_attempt(make.project, held.hold, "open", text),
}

REFUSED: list[tuple[str, Any]] = [
    ("invalid_text", "\0"),
    ("invalid_text", "in the \0 middle"),
    ("invalid_text", {"\0": 1}),
    ("invalid_text", [[[[[[[[[[[[[[[[[[[["\0"]]]]]]]]]]]]]]]]]]]]),
    ("invalid_text", "\ud800"),
    ("invalid_text", "\udc00\ud800"),
    ("invalid_text", {"x\ud83d": 1}),
    ("invalid_number", float("nan")),
    ("invalid_number", [float("inf")]),
    ("invalid_number", {"x": float("-inf")}),
    ("invalid_number", 10**1000),
]


@pytest.fixture
def held(make: RunBuilder) -> Made:
    made = make.running()
    make.attempt(made, attempt_id="open")
    return made


@pytest.mark.parametrize("place", DOCUMENTS)
@pytest.mark.parametrize(("code", "value"), REFUSED, ids=[f"{code}-{n}" for n, (code, _) in enumerate(REFUSED)])
def test_what_can_not_be_stored_alike_everywhere_is_refused(
    make: RunBuilder, held: Made, place: str, code: str, value: Any
) -> None:
    before = snapshot_of_everything()

    with pytest.raises(errors.InvalidDocument) as refused:
        DOCUMENTS[place](make, held, value)

    assert refused.value.code == code
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("place", TEXTS)
@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "x\ud83d"], ids=["nul", "inner nul", "half", "inner half"])
def test_text_that_can_not_be_stored_is_refused(make: RunBuilder, held: Made, place: str, text: str) -> None:
    before = snapshot_of_everything()

    with pytest.raises(errors.Invalid):
        TEXTS[place](make, held, text)

    assert snapshot_of_everything() == before


@pytest.mark.parametrize("place", DOCUMENTS)
def test_a_proper_pair_is_the_emoji(make: RunBuilder, held: Made, place: str) -> None:
    DOCUMENTS[place](make, held, "\U0001f600")

    assert "\U0001f600" in texts_stored()


@pytest.mark.parametrize("place", TEXTS)
def test_any_other_text_is_kept_as_it_is(make: RunBuilder, held: Made, place: str) -> None:
    text = " <b>\u202eé\r\n'\";-- %s 😀\x7f "

    TEXTS[place](make, held, text)

    assert text in texts_stored()


def texts_stored() -> set[str]:
    """All texts of all rows, those in stored documents included."""
    values = [value for rows in snapshot_of_everything().values() for row in rows for value in row]
    texts = [value.decode(errors="replace") if isinstance(value, bytes) else value for value in values]
    found: set[str] = set()
    for text in texts:
        if isinstance(text, str):
            found |= {text, *texts_in(text)}
    return found


def texts_in(document: str) -> Iterator[str]:
    """The texts in this document, if it is one."""
    try:
        todo = [json.loads(document)]
    except ValueError:
        return
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            todo += value.values() if isinstance(value, dict) else value


@pytest.mark.parametrize("number", [9007199254740993, -9223372036854775808, 18446744073709551616, 10**39 + 7])
def test_big_integers_keep_every_digit(project: Project, make: RunBuilder, number: int) -> None:
    made = make.completed(input={"n": number}, output=[number])

    assert made.run.output is not None
    assert bytes(made.run.input.content) == b'{"n":%d}' % number
    assert bytes(made.run.output.content) == b"[%d]" % number


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("place", ["input", "output", "attempt's input", "attempt's output"])
def test_depth_is_limited(make: RunBuilder, held: Made, place: str) -> None:
    before = snapshot_of_everything()

    for depth in (101, 20_000):
        with pytest.raises(errors.InvalidDocument) as refused:
            DOCUMENTS[place](make, held, nested(depth))
        assert refused.value.code == "too_deep"
    unchanged = snapshot_of_everything() == before
    DOCUMENTS[place](make, held, nested(100))

    assert unchanged


@pytest.mark.parametrize("place", ["input", "output", "attempt's input", "attempt's output"])
def test_size_is_limited_in_stored_bytes(make: RunBuilder, held: Made, place: str, settings: Settings) -> None:
    settings.WORKFLOWQ = {**settings.WORKFLOWQ, "MAX_DOCUMENT_BYTES": 100}
    before = snapshot_of_everything()

    with pytest.raises(errors.InvalidDocument) as refused:
        DOCUMENTS[place](make, held, "é" * 50)
    unchanged = snapshot_of_everything() == before
    DOCUMENTS[place](make, held, "é" * 49)

    assert (refused.value.code, unchanged) == ("payload_too_large", True)


def test_a_run_whose_output_was_refused_can_still_complete(project: Project, held: Made) -> None:
    with pytest.raises(errors.InvalidDocument) as refused:
        transitions.complete(project, Completion(held.run_id, held.token, {"x": ["\0"]}))

    transitions.complete(project, Completion(held.run_id, held.token, {"x": []}))

    assert refused.value.facts["place"] == "/x/0"
    assert held.axes == ("completed", "done")


def test_a_run_whose_output_was_refused_can_still_fail(project: Project, held: Made) -> None:
    with pytest.raises(errors.InvalidDocument):
        transitions.complete(project, Completion(held.run_id, held.token, float("nan")))

    transitions.fail(project, Failure(held.run_id, "broken", "No such output.", held.token))

    assert held.axes == ("failed", "failed")
