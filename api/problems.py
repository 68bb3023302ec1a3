"""Refusals and faults as RFC 9457 problem documents. What is refused, and why, is decided elsewhere."""

import logging
import math
from collections.abc import Callable, Mapping
from inspect import cleandoc
from typing import Any, Final

import orjson
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions

from api import errors
from runs import canonical
from runs import errors as refusals
from runs.errors import Action, Refusal

logger = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_SECONDS: Final = 5
BUSY_RETRY_AFTER_SECONDS: Final = 1

_STATUS_BY_CODE: Final = {
    "unauthenticated": 401,
    "scope_missing": 403,
    "method_not_allowed": 405,
    "not_acceptable": 406,
    "length_required": 411,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "internal_error": 500,
}
_STATUS_BY_KIND: Final[Mapping[type[Refusal], int]] = {
    refusals.Forbidden: 403,
    refusals.NotFound: 404,
    refusals.Conflict: 409,
    refusals.Busy: 503,
}
# Where refusals are declared; those of tests and tools are nobody's business.
_OURS: Final = (refusals.__name__, errors.__name__)
_SUBJECTS: Final = frozenset({"attempt", "decision", "effect", "message", "request", "submission", "turn"})
_DOCUMENT_FAULTS: Final[Mapping[canonical.Code, str]] = {
    "invalid_json": "The body, or a document in it, is not JSON.",
    "invalid_text": "Text holds U+0000 or half a surrogate pair.",
    "invalid_number": "A number is out of the range of a double, or an integer has more than 1,000 digits.",
    "too_deep": "A document has too many levels.",
    "payload_too_large": "The body, or a document in it, is too large.",
}
# SQLite's primary result codes for trouble that passes: BUSY, LOCKED, IOERR, FULL, CANTOPEN.
_SQLITE_AWAY: Final = frozenset({5, 6, 10, 13, 14})


class ProblemAnswer(HttpResponse):
    """A finished HTTP answer that says what was refused."""

    def __init__(self, refusal: Refusal) -> None:
        document = problem(refusal)
        super().__init__(orjson.dumps(document, default=str), content_type=MEDIA_TYPE, status=document["status"])
        self.headers["Cache-Control"] = "no-store"
        # Django would write the address of every refused request into the log, and whatever secret stands in it.
        self._has_been_logged = True
        if refusal.code == "unauthenticated":
            self.headers["WWW-Authenticate"] = "Bearer"
        if refusal.action is Action.RETRY:
            self.headers["Retry-After"] = str(_retry_after(refusal))


def problem(refusal: Refusal) -> dict[str, Any]:
    """The problem document of a refusal; its facts stand beside the standard members."""
    document = {
        "type": f"urn:workflowq:problem:{refusal.code}",
        "title": refusal.code.replace("_", " ").capitalize(),
        "status": status_of(refusal),
        "detail": refusal.detail,
        "code": refusal.code,
        "action": refusal.action.value,
    }
    # `status` is the HTTP status in every problem document: that of a run, an attempt ... goes by another name.
    subject = refusal.code.partition("_")[0]
    status = f"{subject if subject in _SUBJECTS else 'run'}_status"
    facts = {(status if name == "status" else name): value for name, value in refusal.facts.items()}
    return facts | document


def status_of(refusal: Refusal) -> int:
    """The HTTP status that goes with a refusal."""
    return _status(type(refusal), refusal.code)


def catalogue() -> dict[str, tuple[int, Action, str]]:
    """By code: the status, the action and the default sentence of every problem that a caller may meet."""
    found: dict[str, tuple[int, Action, str]] = {}
    # Parents first: several refusals share a code, and the general sentence tells of all of them.
    todo: list[type[Refusal]] = [refusals.Invalid, refusals.Forbidden, refusals.NotFound]
    todo += [kind for kind in Refusal.__subclasses__() if kind not in todo]
    for kind in todo:
        todo += [inner for inner in kind.__subclasses__() if inner.__module__.startswith(_OURS)]
        if kind not in (refusals.Conflict, refusals.InvalidDocument, refusals.Forbidden):
            found.setdefault(kind.code, (_status(kind, kind.code), kind.action, cleandoc(kind.__doc__ or "")))
    for code, sentence in _DOCUMENT_FAULTS.items():
        found.setdefault(code, (_status(refusals.InvalidDocument, code), Action.MEND, sentence))
    return dict(sorted(found.items(), key=lambda item: (item[1][0], item[0])))


def _status(kind: type[Refusal], code: str) -> int:
    if status := _STATUS_BY_CODE.get(code):
        return status
    return next((status for base, status in _STATUS_BY_KIND.items() if issubclass(kind, base)), 400)


def answer_to(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """The answer to whatever a view raised (REST_FRAMEWORK's EXCEPTION_HANDLER)."""
    answer = ProblemAnswer(as_refusal(error))
    if isinstance(error, exceptions.MethodNotAllowed) and context.get("view"):
        answer.headers["Allow"] = ", ".join(context["view"].allowed_methods)
    return answer


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """The answer to an address that nothing stands at."""
    return ProblemAnswer(errors.NotFound())


def as_refusal(error: Exception) -> Refusal:
    """What to say of an exception; faults of the server's own are logged here, with nothing said of them outside."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, canonical.DocumentError):
        return refusals.InvalidDocument(error.message, code=error.code, place=error.place)
    for kind, translated in _TRANSLATIONS.items():
        if isinstance(error, kind):
            return translated(error)
    if isinstance(error, DatabaseError | InterfaceError) and _is_away(error):
        logger.warning("The database could not be used: %s", type(error).__name__, exc_info=error)
        return errors.Busy()
    logger.error("A request failed: %s", type(error).__name__, exc_info=error)
    return errors.InternalError()


_TRANSLATIONS: Final[Mapping[type[Exception], Callable[[Any], Refusal]]] = {
    exceptions.NotAuthenticated: lambda _: errors.Unauthenticated(),
    exceptions.AuthenticationFailed: lambda _: errors.Unauthenticated(),
    exceptions.MethodNotAllowed: lambda _: errors.MethodNotAllowed(),
    exceptions.UnsupportedMediaType: lambda _: errors.UnsupportedMediaType(),
    exceptions.NotAcceptable: lambda _: errors.NotAcceptable(),
    exceptions.NotFound: lambda _: errors.NotFound(),
    Http404: lambda _: errors.NotFound(),
    RequestDataTooBig: lambda _: errors.Invalid("The request is too large."),
    SuspiciousOperation: lambda _: errors.Invalid("The request can't be read."),
    UnreadablePostError: lambda _: errors.Invalid("The body ended early."),
}


def _is_away(error: DatabaseError | InterfaceError) -> bool:
    """Whether the database is gone or busy, rather than asked for something senseless."""
    if isinstance(error, InterfaceError):
        return True
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    if code is not None:
        return int(code) & 0xFF in _SQLITE_AWAY
    # PostgreSQL's OperationalError is about connections, resources and time-outs.
    return isinstance(error, OperationalError)


def _retry_after(refusal: Refusal) -> int:
    if "retry_in_ms" in refusal.facts:
        return max(1, math.ceil(int(refusal.facts["retry_in_ms"]) / 1000))
    return BUSY_RETRY_AFTER_SECONDS if isinstance(refusal, refusals.Busy) else RETRY_AFTER_SECONDS
