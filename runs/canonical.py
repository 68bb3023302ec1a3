"""JSON documents and plain text: what is let in, and the one canonical form in which documents are kept and compared.

RFC 8785 with one extension: an integer keeps every digit, up to MAX_INTEGER_DIGITS. No Django and no database here.
"""

import json
import math
import re
import sys
from collections.abc import Iterable
from decimal import Decimal
from hashlib import sha256
from itertools import accumulate
from typing import Final, Literal, NoReturn, TypeAlias, cast

import orjson

from runs import rfc8785

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
Code: TypeAlias = Literal["invalid_json", "invalid_text", "invalid_number", "too_deep", "payload_too_large"]
_Path: TypeAlias = "tuple[_Path, str | int] | None"

# Depth counts the containers around the innermost value, itself included: `1` has depth 0, `[]` and `[1]` 1, `[[]]` 2.
MAX_DEPTH: Final = 100
# No caller may allow more: orjson stops at 254 levels and the standard parser recurses once a level.
DEPTH_CEILING: Final = 250
MAX_INTEGER_DIGITS: Final = 1000
MAX_PLACE: Final = 200

_HALF_A_PAIR: Final = "text must not hold half a surrogate pair"
_TOO_LONG: Final = 10**MAX_INTEGER_DIGITS
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# Possessive, and with an optional end, so that no input makes it read a byte twice.
_STRINGS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKETS: Final = frozenset(b"[]{}")
_NOT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in _BRACKETS)
_STEPS: Final = tuple(1 if byte in b"[{" else -1 for byte in range(256))
_DIGITS_ALIKE: Final = bytes.maketrans(b"123456789", b"000000000")

# Python refuses to convert integers beyond a limit of its own (4,300 digits unless it was set otherwise).
if 0 < sys.get_int_max_str_digits() < MAX_INTEGER_DIGITS:
    raise RuntimeError(f"PYTHONINTMAXSTRDIGITS must be 0 or at least {MAX_INTEGER_DIGITS}")


class DocumentError(ValueError):
    """A document or text that isn't let in.

    `place` is a JSON pointer (RFC 6901; "" is the whole document) of at most MAX_PLACE characters; a longer one is cut
    and ends in "…". A fault in a member's name is placed at the object that has the member. Text that can't be read as
    JSON, a document too deep and one too large are faults of the whole. `message` repeats nothing of the document.
    """

    def __init__(self, code: Code, message: str, place: str = "") -> None:
        super().__init__(message)
        self.code: Code = code
        self.message = message
        self.place = place if len(place) <= MAX_PLACE else place[: MAX_PLACE - 1] + "…"


def parse(data: bytes | str, *, max_bytes: int, max_depth: int = MAX_DEPTH) -> JsonValue:
    """Read a document from outside, strictly by RFC 8259; refuses with DocumentError what may not be stored.

    An object that names a member twice is refused (invalid_json): RFC 8259 leaves open which value counts, so that two
    readers could see two different documents. `"a"` and `"\\u0061"` are the same name. `max_bytes` is of UTF-8.
    """
    _check_ceiling(max_depth)
    # A text has at least as many bytes as characters: one far too long isn't encoded first.
    if len(data) > max_bytes:
        raise DocumentError("payload_too_large", f"the document has more than {max_bytes} bytes")
    if isinstance(data, str):
        return parse(_encoded(data), max_bytes=max_bytes, max_depth=max_depth)
    text = _decoded(data)
    _check_nesting(data, max_depth)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise DocumentError("invalid_json", f"not valid JSON at character {error.pos}: {error.msg}") from None
    _inspect(value, max_depth)
    return cast(JsonValue, value)


def dumps(value: object, *, max_bytes: int | None = None, max_depth: int = MAX_DEPTH) -> bytes:
    """The canonical UTF-8 bytes of a value made of None, bool, int, float, str, list, tuple and dict with str keys.

    Refuses anything else, and every value that `parse` would refuse, with DocumentError.
    """
    _check_ceiling(max_depth)
    data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS) if _inspect(value, max_depth) else rfc8785.write(value)
    if max_bytes is not None and len(data) > max_bytes:
        raise DocumentError("payload_too_large", f"the document takes more than {max_bytes} bytes as stored")
    return data


def loads(data: bytes) -> JsonValue:
    """Read back what `dumps` wrote; whole numbers come back as int. Trusts its input: nothing is checked."""
    # orjson turns integers beyond 64 bits into doubles; shorter runs of digits than 19 always fit.
    if b"0" * 19 in data.translate(_DIGITS_ALIKE) or b"e+" in data:
        return cast(JsonValue, json.loads(data, parse_float=_number))
    return cast(JsonValue, orjson.loads(data))


def digest(data: bytes) -> bytes:
    """The SHA-256 digest (32 bytes) of canonical bytes."""
    return sha256(data).digest()


def equal(left: object, right: object) -> bool:
    """Whether two values are the same document: the same canonical bytes, so that 1.0 is 1, but true is not 1."""
    return dumps(left, max_depth=DEPTH_CEILING) == dumps(right, max_depth=DEPTH_CEILING)


def check_text(text: str, *, place: str = "") -> str:
    """The text itself; refuses U+0000 and lone surrogates, which one of the databases can't keep."""
    if "\0" in text:
        raise DocumentError("invalid_text", "text must not hold the character U+0000", place)
    if not text.isascii() and _LONE_SURROGATE.search(text):
        raise DocumentError("invalid_text", _HALF_A_PAIR, place)
    return text


def _check_ceiling(max_depth: int) -> None:
    if max_depth > DEPTH_CEILING:
        raise ValueError(f"max_depth is {max_depth}; it can't be more than {DEPTH_CEILING}")


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise DocumentError("invalid_text", _HALF_A_PAIR) from None


def _decoded(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DocumentError("invalid_json", f"not valid UTF-8 at byte {error.start}") from None
    if text.startswith("\ufeff"):
        raise DocumentError("invalid_json", "the document must not begin with a byte order mark")
    return text


def _check_nesting(data: bytes, max_depth: int) -> None:
    """Refuse a document that is nested too deep, before a parser that recurses sees it."""
    if data.count(b"[") + data.count(b"{") <= max_depth:
        return
    brackets = _STRINGS.sub(b"", data).translate(None, _NOT_BRACKETS)
    for depth in accumulate(map(_STEPS.__getitem__, brackets)):
        if depth > max_depth:
            _refuse_depth(max_depth)


def _refuse_depth(max_depth: int) -> NoReturn:
    raise DocumentError("too_deep", f"the document is nested more than {max_depth} levels deep")


class _RepeatedName:
    """Stands for an object with a repeated name until _inspect, which knows its place, refuses it."""


def _members(pairs: list[tuple[str, object]]) -> object:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _RepeatedName()


def _integer(digits: str) -> int:
    # Converting costs the square of the length: what is too long becomes a number that _inspect refuses.
    return int(digits) if len(digits) <= MAX_INTEGER_DIGITS + 1 else _TOO_LONG


def _number(text: str) -> int | float:
    # In canonical form only whole numbers have a positive exponent; as an int such a one keeps every digit.
    return int(Decimal(text)) if "e+" in text else float(text)


def _refuse_literal(literal: str) -> NoReturn:
    raise DocumentError("invalid_json", f"{literal} is not a JSON value")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_members, parse_int=_integer, parse_constant=_refuse_literal)


def _inspect(root: object, max_depth: int) -> bool:
    """Refuse what isn't a storable document; true where orjson is known to write the canonical bytes.

    Goes down before it goes on, so that a value that holds itself is met as too deep.
    """
    plain = True
    todo: list[tuple[object, int, _Path]] = [([root], 0, None)]
    while todo:
        container, depth, path = todo.pop()
        children: Iterable[tuple[str | int, object]]
        if isinstance(container, dict):
            plain &= _inspect_names(container, path)
            children = container.items()
        else:
            children = enumerate(cast("list[object]", container))
        for token, child in children:
            # The two most frequent kinds, at once.
            if child is None or (type(child) is str and child.isascii() and "\0" not in child):
                continue
            if isinstance(child, (dict, list, tuple)):
                if depth == max_depth:
                    _refuse_depth(max_depth)
                plain &= type(child) in (dict, list, tuple)
                todo.append((child, depth + 1, (path, token) if depth else None))
                continue
            try:
                plain &= _inspect_scalar(child)
            except DocumentError as error:
                raise DocumentError(error.code, error.message, _pointer((path, token) if depth else None)) from None
    return plain


def _inspect_names(container: dict[object, object], path: _Path) -> bool:
    """orjson sorts names by code point, RFC 8785 by UTF-16 unit: alike as long as all are below the surrogates."""
    plain = True
    for name in container:
        if type(name) is str and name.isascii() and "\0" not in name:
            continue
        if not isinstance(name, str):
            raise DocumentError("invalid_json", "the names of an object's members must be text", _pointer(path))
        check_text(name, place=_pointer(path))
        plain &= type(name) is str and max(name) < "\ud800"
    return plain


def _inspect_scalar(value: object) -> bool:
    kind = type(value)
    if isinstance(value, str):
        check_text(value)
        return kind is str
    if value is None or kind is bool:
        return True
    if isinstance(value, int):
        if not -_TOO_LONG < value < _TOO_LONG:
            raise DocumentError("invalid_number", f"an integer must not have more than {MAX_INTEGER_DIGITS} digits")
        return kind is int and -(2**63) <= value < 2**64
    if isinstance(value, float):
        if not math.isfinite(value):
            raise DocumentError("invalid_number", "a number is out of the range of a double")
        # Both write the shortest digits; below 0.0001, and for whole numbers, they lay them out differently.
        return kind is float and abs(value) >= 1e-4 and not value.is_integer()
    if isinstance(value, _RepeatedName):
        raise DocumentError("invalid_json", "an object names a member twice")
    raise DocumentError("invalid_json", f"{kind.__name__} is not a JSON type")


def _pointer(path: _Path) -> str:
    tokens: list[str] = []
    while path is not None:
        path, token = path
        tokens.append("/" + str(token)[:MAX_PLACE].replace("~", "~0").replace("/", "~1"))
    return "".join(reversed(tokens))
