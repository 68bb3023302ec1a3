"""What holds for every document, whatever it is: canonical bytes are one per document and say all of it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs import rfc8785
from runs.canonical import MAX_DEPTH, DocumentError, dumps, equal, loads, parse

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
# Around the border where the order of UTF-16 units and that of code points part.
NAMES = TEXT | st.text("aé\ud7ff\ue000\uffff\U00010000\U0010ffff", max_size=3)
INTEGERS = st.integers() | st.integers(-(2**70), 2**70) | st.integers(-(10**1000) + 1, 10**1000 - 1)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
WHOLE_DOUBLES = st.integers(-(2**80), 2**80).map(float)


def documents(scalars: st.SearchStrategy[Any], names: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(names, inner, max_size=5), max_leaves=20
    )


DOCUMENTS = documents(st.none() | st.booleans() | TEXT | INTEGERS | DOUBLES | WHOLE_DOUBLES, NAMES)
# What is met most, and must be written fast: numbers of ordinary size, names without rare characters.
COMMON = documents(
    st.none()
    | st.booleans()
    | TEXT
    | st.integers(-(2**63), 2**64 - 1)
    | (st.floats(1e-4, 1e15) | st.floats(-1e15, -1e-4)).filter(lambda double: not double.is_integer()),
    st.text(st.characters(max_codepoint=0xD7FF, exclude_characters="\0"), max_size=4),
)


def read(data: bytes | str) -> Any:
    return parse(data, max_bytes=2**24, max_depth=MAX_DEPTH)


def with_members_turned_round(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: with_members_turned_round(value[name]) for name in reversed(value)}
    return [with_members_turned_round(child) for child in value] if isinstance(value, list) else value


@settings(max_examples=500)
@given(DOCUMENTS | COMMON)
def test_the_fast_way_writes_the_same_bytes_as_the_slow_one(value: Any) -> None:
    assert dumps(value) == rfc8785.write(value)


@settings(max_examples=1000)
@given(DOUBLES | WHOLE_DOUBLES | st.floats(-1e-3, 1e-3))
def test_every_double_is_written_alike_on_both_ways_and_read_back_exactly(value: float) -> None:
    kept = dumps(value)

    assert kept == rfc8785.write(value)
    assert float(kept) == value


@given(COMMON)
def test_common_documents_are_written_the_fast_way(value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rfc8785, "write", lambda _: pytest.fail("the slow way was taken"))

        kept = dumps(value)

    assert kept == rfc8785.write(value)


@given(DOCUMENTS)
def test_what_was_written_reads_as_the_same_document(value: Any) -> None:
    kept = dumps(value)

    assert equal(read(kept), value)
    assert equal(read(kept.decode()), value)
    assert equal(loads(kept), value)


@given(DOCUMENTS)
def test_writing_what_was_read_changes_nothing(value: Any) -> None:
    kept = dumps(value)

    assert dumps(read(kept)) == dumps(loads(kept)) == kept


@given(DOCUMENTS)
def test_the_order_of_members_does_not_matter(value: Any) -> None:
    assert dumps(with_members_turned_round(value)) == dumps(value)


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 0, 3]))
def test_how_json_was_laid_out_and_escaped_does_not_matter(value: Any, escaped: bool, indent: int | None) -> None:
    sent = json.dumps(value, ensure_ascii=escaped, indent=indent)

    assert dumps(read(sent)) == dumps(value)


@given(DOCUMENTS)
def test_what_was_written_is_json_to_any_reader(value: Any) -> None:
    kept = dumps(value)

    assert equal(json.loads(kept), value)
    assert b"\n" not in kept


@given(st.binary() | st.text().map(lambda text: text.encode(errors="surrogatepass")))
def test_no_bytes_at_all_make_reading_fail_in_another_way_than_by_refusal(data: bytes) -> None:
    try:
        value = read(data)
    except DocumentError:
        return
    assert equal(loads(dumps(value)), value)


@given(st.text('[]{}",:0123456789.-+eE\\u \nntrueNaI\0\ud800é', max_size=40))
def test_no_text_at_all_makes_reading_fail_in_another_way_than_by_refusal(text: str) -> None:
    try:
        value = read(text)
    except DocumentError:
        return
    assert equal(json.loads(text), value)
