"""Idempotency keys on the wire: the fingerprint of a request, and the answer from its receipt."""

import hashlib
import re
from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest
from rest_framework.response import Response

from api import errors, renderers
from runs import canonical, transitions
from runs.models import AccessToken
from runs.transitions import Answer

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
_KEY: Final = re.compile("[!-~]{1,200}")


def answered(
    request: HttpRequest, token: AccessToken, body: dict[str, Any], command: Callable[[], tuple[int, Any]]
) -> Response:
    """Carry out `command`, once for each key of this access token where one was sent."""
    key = request.headers.get(HEADER)
    if key is None:
        status, answer = command()
        return Response(answer, status)
    if not _KEY.fullmatch(key):
        raise errors.InvalidIdempotencyKey
    given = transitions.answered_once(token, key, fingerprint(request, body), lambda: _answer(*command()))
    return Response(given.body, given.status, headers={REPLAYED: "true"} if given.replayed else None)


def fingerprint(request: HttpRequest, body: dict[str, Any]) -> bytes:
    """What makes two requests the same: method, address, and the body's meaning. Secrets are in it as hashes only."""
    meaning = canonical.dumps(body, max_depth=canonical.DEPTH_CEILING)
    return hashlib.sha256(f"{request.method} {request.path}\n".encode() + meaning).digest()


def _answer(status: int, answer: Any) -> Answer:
    # In the form that a receipt gives back, with the members in the same order and every digit.
    written = canonical.loads(renderers.encoded(answer))
    return Answer(status, canonical.loads(canonical.dumps(written, max_depth=canonical.DEPTH_CEILING)))
