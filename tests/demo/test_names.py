"""File names survive the way into JSON and back."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflowq.demo.names import real, shown


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.txt", "plain.txt"),
        ("übung/日本.txt", "übung/日本.txt"),
        ("back\\slash", "back\\slash"),
        (os.fsdecode(b"caf\xe9"), "caf\\xe9"),
        ("caf\\xe9", "caf\\x5cxe9"),
        ("\\x5c", "\\x5cx5c"),
    ],
)
def test_a_name_is_shown_as_it_is_where_it_can_be(name: str, text: str) -> None:
    assert shown(name) == text
    assert real(text) == name


@given(st.binary(max_size=30))
def test_any_name_comes_back(name: bytes) -> None:
    text = shown(os.fsdecode(name))

    assert json.loads(json.dumps(text)).encode("utf-8").decode() == text
    assert os.fsencode(real(text)) == name


@given(st.text(alphabet="\\xud5c8ef0\udc80\ud800\udfff/", max_size=20))
def test_names_that_look_like_escapes_come_back(name: str) -> None:
    assert real(shown(name)) == name
