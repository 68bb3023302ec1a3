"""How a document is written: RFC 8785, and what Python values are taken."""

import json
from enum import StrEnum

import pytest

from runs.canonical import MAX_PLACE, DocumentError, dumps
from tests.runs.documents import read, refusal_of_value


def test_members_are_sorted_by_utf16_units() -> None:
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\xf6"]

    kept = dumps(dict.fromkeys(names, 0))

    assert list(json.loads(kept)) == ["\r", "1", "\x80", "\xf6", "\u20ac", "\U0001f600", "\ufb33"]


def test_only_what_must_be_escaped_is_escaped() -> None:
    text = "\x01\b\t\n\f\r\x1f \"\\/<>&'\x7f\x80é\u2028\ufeff😀"
    expected = '"\\u0001\\b\\t\\n\\f\\r\\u001f \\"\\\\/<>&\'\x7f\x80é\u2028\ufeff😀"'.encode()

    assert dumps(text) == expected
    assert dumps([text, 1e21]) == b"[" + expected + b",1e+21]"


def test_the_whole_example_of_rfc_8785_is_written_as_it_says() -> None:
    given = r"""{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"""

    kept = dumps(read(given))

    assert (
        kept
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            r'"string":"€$\u000f\nA'
            "'"
            r'B\"\\\\\"/"}'
        ).encode()
    )


def test_empty_containers_and_tuples_are_written_on_both_ways() -> None:
    plain: dict[str, object] = {"b": [], "a": ({}, [[]], ())}

    assert dumps(plain) == b'{"a":[{},[[]],[]],"b":[]}'
    assert dumps([plain, 1.0, ","]) == b'[{"a":[{},[[]],[]],"b":[]},1,","]'


class Colour(StrEnum):
    RED = "red"


def test_members_of_text_enumerations_are_text() -> None:
    assert dumps({Colour.RED: Colour.RED}) == b'{"red":"red"}'


@pytest.mark.parametrize("value", [b"x", {1}, object(), 1j, range(2), iter([])])
def test_what_is_no_json_type_is_refused(value: object) -> None:
    assert refusal_of_value({"a": [value]}) == ("invalid_json", "/a/0")


@pytest.mark.parametrize("name", [1, None, True, ("a",), b"a"])
def test_a_name_that_is_not_text_is_refused(name: object) -> None:
    assert refusal_of_value([{name: 1}]) == ("invalid_json", "/0")


def test_the_size_of_what_is_written_is_limited_in_bytes_as_stored() -> None:
    for value, size in (({"a": "é"}, 10), ({"a": 1e20}, 27)):
        assert len(dumps(value, max_bytes=size)) == size

        with pytest.raises(DocumentError) as caught:
            dumps(value, max_bytes=size - 1)
        assert (caught.value.code, caught.value.place) == ("payload_too_large", "")


def test_a_long_place_is_cut() -> None:
    code, place = refusal_of_value({"n/" * 100_000: ["\0"]})

    assert code == "invalid_text"
    assert len(place) == MAX_PLACE
    assert place.startswith("/n~1n~1")
    assert place.endswith("…")
