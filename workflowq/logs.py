"""What goes into the log: a printable line for what a client sent, no traceback for what was refused on purpose."""

import logging

# Django logs refused requests there with their traceback, and repeats what was sent.
REFUSED = "django.security"


class Printable(logging.Filter):
    """Spells out control characters, so that nobody can forge a line or hide one."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = printable(record.getMessage()), None
        if record.name.startswith(REFUSED):
            record.exc_info = record.exc_text = None
        return True


def printable(text: str) -> str:
    """The text in one line of printable characters."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
