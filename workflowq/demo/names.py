"""File names as text that JSON and a database can hold, reversibly. No files are touched here."""

import re

# What stands for something else: \xHH a byte that is no UTF-8, \uHHHH a lone surrogate (on other systems), \x5c a
# backslash that would look like one of these.
_ESCAPE = re.compile(r"\\(?:x(5c|[89a-f][0-9a-f])|u(d[89a-f][0-9a-f]{2}))")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF  # where Python keeps undecodable bytes of file names


def shown(name: str) -> str:
    """The name as text. Names in good UTF-8 stay as they are, unless they look like an escape."""
    escaped = _ESCAPE.sub(lambda match: r"\x5c" + match[0][1:], name)
    return _SURROGATE.sub(lambda match: _as_escape(ord(match[0])), escaped)


def real(text: str) -> str:
    """The file name behind a shown one, fit for opening."""
    return _ESCAPE.sub(_from_escape, text)


def _as_escape(code: int) -> str:
    return f"\\x{code - 0xDC00:02x}" if _FIRST_BYTE <= code <= _LAST_BYTE else f"\\u{code:04x}"


def _from_escape(match: re.Match[str]) -> str:
    if match[2]:
        return chr(int(match[2], 16))
    code = int(match[1], 16)
    return "\\" if code == ord("\\") else chr(0xDC00 + code)
