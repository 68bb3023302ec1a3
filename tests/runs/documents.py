"""How the tests of canonical documents read and are refused."""

import pytest

from runs.canonical import MAX_DEPTH, DocumentError, dumps, parse

MEBIBYTE = 2**20


def read(data: bytes | str, *, max_bytes: int = MEBIBYTE, max_depth: int = MAX_DEPTH) -> object:
    return parse(data, max_bytes=max_bytes, max_depth=max_depth)


def refusal(data: bytes | str, *, max_bytes: int = MEBIBYTE, max_depth: int = MAX_DEPTH) -> tuple[str, str]:
    """The code and the place with which a document from outside is refused."""
    with pytest.raises(DocumentError) as caught:
        parse(data, max_bytes=max_bytes, max_depth=max_depth)
    return caught.value.code, caught.value.place


def refusal_of_value(value: object) -> tuple[str, str]:
    """The code and the place with which a Python value is refused."""
    with pytest.raises(DocumentError) as caught:
        dumps(value)
    return caught.value.code, caught.value.place


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth
