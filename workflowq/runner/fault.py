"""The text that tells why a run or a step failed: type, message, last lines of the traceback; bounded and clean."""

import traceback

from workflowq.runner.redactor import Redactor, printable

MAX_CHARACTERS = 8_000
_MESSAGE_CHARACTERS = 3_000
_LOOKED_AT = 50_000  # of a message, so that a huge one costs no more than a long one
_FRAMES = 12
_OWN_FILES = __file__.rsplit("fault.py", 1)[0]


def describe(error: BaseException, redactor: Redactor) -> str:
    """At most 8,000 characters without secrets or control characters; never raises, however odd the exception."""
    # Redacted before it is cut: half a secret would no longer be known for one.
    head = _cut(_clean(_headline(error), redactor), _MESSAGE_CHARACTERS)
    frames = _clean(_frames(error), redactor)
    room = MAX_CHARACTERS - len(head) - 2
    if not frames:
        return head
    return f"{head}\n\n{frames if len(frames) <= room else '...' + frames[3 - room :]}"


def _headline(error: BaseException) -> str:
    kind = type(error).__name__
    try:
        message = str(error)[:_LOOKED_AT]
    except Exception as second:
        message = f"(its message can't be shown: {type(second).__name__})"
    cause = error.__cause__
    because = f"\ncaused by {type(cause).__name__}" if cause is not None else ""
    return (f"{kind}: {message}" if message else kind) + because


def _frames(error: BaseException) -> str:
    try:
        frames = [
            frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_OWN_FILES)
        ]
        return "".join(traceback.format_list(frames[-_FRAMES:])).rstrip()
    except Exception:
        return ""


def _clean(text: str, redactor: Redactor) -> str:
    return redactor.without_secrets(printable(text))


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}... ({len(text) - most} more characters)"
