"""What JSON and text are let in, and when two documents are the same (docs/limits.md)."""

import json
from hashlib import sha256

import pytest

from runs.canonical import DocumentError, check_text, digest, dumps, equal, loads
from tests.runs.documents import MEBIBYTE, read, refusal, refusal_of_value


@pytest.mark.parametrize("text", ["{}", "null", "[]", '""', "0", "false", ' \t\r\n{"": [null, true, -1, "x"]} \n'])
def test_any_json_value_is_a_document(text: str) -> None:
    assert read(text) == read(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "[1,]",
        '{"a":1,}',
        "{a:1}",
        "'a'",
        "01",
        "+1",
        ".5",
        "1.",
        "1e",
        "0x1",
        "[1 2]",
        '"a',
        '"\\x"',
        '"\\u12"',
        '"\t"',
        "nul",
        "True",
        "undefined",
        "[]]",
        "{} {}",
        "1\x0c",
        "\xa01",
        "٣",
        "-",
        "// c\n1",
        "][",
    ],
)
def test_what_is_not_json_by_the_letter_is_refused(text: str) -> None:
    assert refusal(text) == ("invalid_json", "")
    assert refusal(text.encode()) == ("invalid_json", "")


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity"])
def test_the_literals_nan_and_infinity_are_refused_and_their_names_as_text_are_not(literal: str) -> None:
    assert refusal(literal) == ("invalid_json", "")
    assert refusal(f'{{"a":[[{literal}]]}}') == ("invalid_json", "")
    assert read(f'["{literal}"]') == [literal]


@pytest.mark.parametrize(
    "data", [b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', '"é"'.encode("utf-16")]
)
def test_bytes_that_are_not_utf8_are_refused(data: bytes) -> None:
    assert refusal(data) == ("invalid_json", "")


def test_a_byte_order_mark_is_refused_at_the_beginning_alone() -> None:
    assert refusal(b"\xef\xbb\xbf{}") == ("invalid_json", "")
    assert refusal("\ufeff{}") == ("invalid_json", "")
    assert read('"a\ufeff"') == "a\ufeff"


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', '{"a":1,"b":2,"\\u0061":3}'])
def test_an_object_that_names_a_member_twice_is_refused(text: str) -> None:
    assert refusal(text) == ("invalid_json", "")
    assert refusal(f'{{"deep":[0,{text}]}}') == ("invalid_json", "/deep/1")


def test_the_size_limit_counts_bytes_and_not_characters() -> None:
    text = '"ééé"'

    assert read(text, max_bytes=8) == read(text.encode(), max_bytes=8) == "ééé"

    assert refusal(text, max_bytes=7) == refusal(text.encode(), max_bytes=7) == ("payload_too_large", "")
    assert refusal(text, max_bytes=4) == ("payload_too_large", "")


def test_a_hundred_thousand_small_members_are_one_document() -> None:
    document = {f"k{number}": number for number in range(100_000)}

    assert loads(dumps(read(json.dumps(document), max_bytes=2 * MEBIBYTE))) == document


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('"\\u0000"', ""),
        ('{"a":"x\\u0000y"}', "/a"),
        ('{"a":[1,"\\u0000"]}', "/a/1"),
        ('{"a":{"b\\u0000":1}}', "/a"),
        ('{"a/b":{"c~d":["\\u0000"]}}', "/a~1b/c~0d/0"),
        ("[" * 20 + '"\\u0000"' + "]" * 20, "/0" * 20),
    ],
)
def test_the_null_character_is_refused_by_its_place(text: str, place: str) -> None:
    assert refusal(text) == ("invalid_text", place)
    assert refusal_of_value(json.loads(text)) == ("invalid_text", place)


def test_a_raw_null_byte_is_not_json_and_an_escaped_backslash_before_u0000_is_plain_text() -> None:
    assert refusal(b'{"a":"\x00"}') == ("invalid_json", "")
    assert refusal(b"{}\x00") == ("invalid_json", "")
    assert dumps(read(r'"\\u0000"')) == rb'"\\u0000"'


@pytest.mark.parametrize(
    "half", [r"\ud800", r"\udc00\ud800", r"x\ud83d", r"\uDFFFx", r"\ud83d\u0041", r"\ud83d\ud83d\ude00"]
)
def test_half_a_surrogate_pair_is_refused_as_value_and_as_name(half: str) -> None:
    assert refusal(f'["{half}"]') == ("invalid_text", "/0")
    assert refusal(f'[{{"{half}":1}}]') == ("invalid_text", "/0")
    assert refusal_of_value(json.loads(f'["{half}"]')) == ("invalid_text", "/0")
    assert refusal(json.loads(f'["{half}"]')[0]) == ("invalid_text", "")


def test_a_whole_surrogate_pair_is_the_character_that_it_stands_for() -> None:
    assert read(r'"\ud83d\ude00"') == read('"😀"'.encode()) == "😀"
    assert dumps(read(r'{"\ud83d\ude00":1}')) == '{"😀":1}'.encode()


@pytest.mark.parametrize("text", ["", "plain", "é 😀 \ufeff \x7f \x1f", "\ue000\uffff"])
def test_other_text_is_kept_as_it_is(text: str) -> None:
    assert check_text(text) == text
    assert loads(dumps(text)) == text


@pytest.mark.parametrize("text", ["\0", "a\0b", "é\ud800", "\udfff", "\ude00\ud83d"])
def test_plain_text_is_refused_like_text_in_documents(text: str) -> None:
    with pytest.raises(DocumentError) as caught:
        check_text(text, place="/error_message")

    assert (caught.value.code, caught.value.place) == ("invalid_text", "/error_message")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('{"a":1,"b":[2]}', ' { "b" : [ 2 ] , "a" : 1 } '),
        ("1.0", "1"),
        ("-0.0", "0"),
        ("1e2", "100"),
        ("0.10", "0.1"),
        (r'"\u00e9\/"', '"é/"'),
        (r'"\ud83d\ude00"', '"😀"'),
    ],
)
def test_documents_of_the_same_meaning_are_equal(left: str, right: str) -> None:
    assert equal(read(left), read(right))
    assert digest(dumps(read(left))) == digest(dumps(read(right)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("true", "1"),
        ("false", "0"),
        ("1", '"1"'),
        ("[1,2]", "[2,1]"),
        ('{"a":null}', "{}"),
        ("[]", "{}"),
        ("null", '""'),
        ('"é"', r'"e\u0301"'),
        ("9007199254740993", "9007199254740992"),
        ("9007199254740993", "9007199254740993.0"),
        ("1000000000000000000001", "1e21"),
        ("18446744073709551616", "18446744073709552000.0"),
    ],
)
def test_documents_of_another_content_are_not_equal(left: str, right: str) -> None:
    assert not equal(read(left), read(right))


def test_the_digest_is_the_sha256_of_the_bytes() -> None:
    assert digest(b"{}") == sha256(b"{}").digest()
