"""Takes secrets and control characters out of text before it leaves the process, in a log line or an error."""

import re
import threading
import unicodedata

_SHAPES = re.compile(r"wq_[A-Za-z0-9_-]{16,}|((?i:\b(?:bearer|basic)\s+))[A-Za-z0-9._~+/=-]{16,}")
_PUT_IN_PLACE = "[secret]"
# Cc control, Cs lone surrogate, Zl and Zp line ends that terminals know; bidirectional overrides turn text around.
_UNWANTED = frozenset({"Cc", "Cs", "Zl", "Zp"})
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Redactor:
    """Knows the secrets of this process: the access token and the tokens of the leases that it holds."""

    def __init__(self, *secrets: str) -> None:
        self._mutex = threading.Lock()
        self._secrets = {secret for secret in secrets if secret}

    def learn(self, secret: str) -> None:
        with self._mutex:
            self._secrets.add(secret)

    def forget(self, secret: str) -> None:
        with self._mutex:
            self._secrets.discard(secret)

    def without_secrets(self, text: str) -> str:
        with self._mutex:
            secrets = sorted(self._secrets, key=len, reverse=True)
        for secret in secrets:
            text = text.replace(secret, _PUT_IN_PLACE)
        return _SHAPES.sub(lambda match: (match[1] or "") + _PUT_IN_PLACE, text)

    def line(self, text: str) -> str:
        """The text as a single line for a log."""
        return self.without_secrets(" ".join(printable(text).split("\n")))


def printable(text: str) -> str:
    """The text with no characters but visible ones, blanks and line feeds; what can't be shown becomes U+FFFD."""
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    return "".join(c if c == "\n" or (c.isascii() and c.isprintable()) else _shown(c) for c in text)


def _shown(character: str) -> str:
    return "\ufffd" if unicodedata.category(character) in _UNWANTED or character in _BIDI else character
