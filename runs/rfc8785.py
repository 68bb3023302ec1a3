"""Writes any JSON value by RFC 8785. What may be written, and where a faster way writes the same, canonical.py says."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Final, TypeAlias

import orjson

_Children: TypeAlias = Iterator[tuple[bytes, object]]

_COMMA: Final = b","


def write(root: object) -> bytes:
    """The canonical bytes of a value that is known to be a JSON document; integers keep every digit."""
    out = bytearray()
    # A stack of its own, so that no depth is too deep: what is left to write of each open container, and its end.
    levels: list[tuple[_Children, bytes]] = [(_elements([root]), b"")]
    while levels:
        children, end = levels[-1]
        for name, child in children:
            out += name
            if isinstance(child, dict):
                out += b"{"
                levels.append((_members(child), b"}"))
                break
            if isinstance(child, (list, tuple)):
                out += b"["
                levels.append((_elements(child), b"]"))
                break
            out += _scalar(child)
            out += _COMMA
        else:
            levels.pop()
            if out.endswith(_COMMA):
                out.pop()
            out += end + _COMMA
    return bytes(out[:-1])


def _elements(values: Iterable[object]) -> _Children:
    return ((b"", value) for value in values)


def _members(value: dict[str, object]) -> _Children:
    return ((_quoted(name) + b":", value[name]) for name in sorted(value, key=_utf16))


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be")


def _scalar(value: object) -> bytes:
    if isinstance(value, float):
        return _double(value).encode()
    if isinstance(value, int) and not isinstance(value, bool):
        return _integer(value).encode()
    return _quoted(value) if isinstance(value, str) else orjson.dumps(value)


def _integer(value: int) -> str:
    """Every digit; but a number that a double's shortest form also names exactly is written in that one form."""
    digits = int.__repr__(value)
    if len(digits.lstrip("-")) > 21 and len(digits.strip("-0")) <= 17:
        with suppress(OverflowError):
            text = _double(float(value))
            if Decimal(text) == value:
                return text
    return digits


def _quoted(text: str) -> bytes:
    # orjson escapes text as RFC 8785 does; of an enumeration's member it would write the value, not the text.
    return orjson.dumps(str.__str__(text))


def _double(value: float) -> str:
    """ECMAScript's Number::toString, laid out anew from the shortest digits, which repr finds."""
    if value == 0:
        return "0"
    mantissa, _, exponent = float.__repr__(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(exponent or "0")
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        text = digits.ljust(point, "0")
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        text = f"{digits[0]}.{digits[1:]}".rstrip(".") + f"e{point - 1:+d}"
    return "-" + text if value < 0 else text
