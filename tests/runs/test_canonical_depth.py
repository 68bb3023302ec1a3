"""How deep a document may be, and that refusing a deeper one costs little."""

import json
import time

import pytest

from runs.canonical import DEPTH_CEILING, MAX_DEPTH, digest, dumps, equal, loads
from tests.runs.documents import nested, read, refusal, refusal_of_value


@pytest.mark.parametrize(("text", "depth"), [("1", 0), ("[]", 1), ("{}", 1), ("[1,[],2]", 2), ('[{"a":[1]}]', 3)])
def test_depth_counts_the_containers_around_the_innermost_value(text: str, depth: int) -> None:
    assert read(text, max_depth=depth) == json.loads(text)

    if depth:
        assert refusal(text, max_depth=depth - 1) == ("too_deep", "")


@pytest.mark.parametrize("depth", [10, MAX_DEPTH])
def test_the_deepest_allowed_document_can_be_read_digested_and_compared(depth: int) -> None:
    for text in (nested(depth), '{"a":' * (depth - 1) + "[1e21]" + "}" * (depth - 1)):
        value = read(text)

        assert loads(dumps(value)) == value
        assert equal(value, read(text))
        assert len(digest(dumps(value))) == 32


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":', '{"[\\"]":[0,'])
def test_a_document_nested_too_deep_is_refused(opening: str) -> None:
    assert refusal(nested(MAX_DEPTH + 1)) == ("too_deep", "")
    assert refusal(nested(20_000)) == ("too_deep", "")
    assert refusal(opening * 20_000) == ("too_deep", "")


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"a\\"]":['])
@pytest.mark.parametrize("closing", ["", "]"])
def test_a_million_levels_cost_little(opening: str, closing: str) -> None:
    data = (opening * 1_000_000 + closing * 1_000_000).encode()
    began = time.process_time()

    outcome = refusal(data, max_bytes=len(data))

    assert outcome == ("too_deep", "")
    assert time.process_time() - began < 2


def test_brackets_in_text_are_no_depth() -> None:
    document = [nested(500), '"\\' + "[" * 500, {"{" * 500: "}"}]

    assert read(json.dumps(document)) == document


def test_quotes_that_never_end_cost_little() -> None:
    data = b"[" * 101 + b'"' + b'\\"' * 500_000 + b"\\"
    began = time.process_time()

    outcome = refusal(data, max_bytes=len(data))

    assert outcome == ("too_deep", "")
    assert time.process_time() - began < 2


def test_values_given_directly_are_held_to_the_depth_limit_too() -> None:
    endless: list[object] = []
    endless += [endless, endless]

    assert refusal_of_value(json.loads(nested(MAX_DEPTH + 1))) == ("too_deep", "")
    assert refusal_of_value(endless) == ("too_deep", "")
    assert refusal_of_value({"a": (endless,)}) == ("too_deep", "")


def test_the_depth_limit_can_be_raised_as_far_as_the_ceiling() -> None:
    value = read(nested(DEPTH_CEILING), max_depth=DEPTH_CEILING)

    assert loads(dumps(value, max_depth=DEPTH_CEILING)) == value
    assert equal(value, value)

    with pytest.raises(ValueError, match="can't be more than 250"):
        read("1", max_depth=DEPTH_CEILING + 1)
    with pytest.raises(ValueError, match="can't be more than 250"):
        dumps(1, max_depth=DEPTH_CEILING + 1)
