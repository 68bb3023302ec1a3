"""Lays out JSON for reading without touching a digit: every token stays as it is stored.

Takes the beginning of a document, too; and stops where the page has enough of it.
"""

import re
from collections.abc import Iterator
from typing import Final

from runs.admin.text import escaped

INDENT: Final = "  "
# A string may lack its end where the document was cut.
_TOKENS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[][{},:]|[^][{},:"\s]+', re.DOTALL)


def laid_out(json: str, limit: int) -> tuple[str, bool]:
    """The document in lines, at most about `limit` characters of them, and whether that is all of it."""
    parts: list[str] = []
    left = limit
    for part in _parts(json):
        if len(part) > left:
            return "".join(parts) + part[: max(left, 0)], False
        parts.append(part)
        left -= len(part)
    return "".join(parts), True


def _parts(json: str) -> Iterator[str]:
    depth = 0
    before = ""
    for match in _TOKENS.finditer(json):
        token = match[0]
        if token in ("}", "]"):
            depth -= 1
            if before not in ("{", "["):
                yield _line(depth)
        elif before in ("{", "[", ","):
            yield _line(depth)
        elif before == ":":
            yield " "
        yield escaped(token)
        if token in ("{", "["):
            depth += 1
        before = token


def _line(depth: int) -> str:
    return "\n" + INDENT * depth
