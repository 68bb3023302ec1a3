"""Reading a request's body: bounded before it is read, strict JSON, an object."""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from rest_framework.parsers import BaseParser

from api import errors
from runs import canonical

_JSON: Final = re.compile(r"""application/json *(?:; *charset *= *"?utf-8"? *)?""", re.IGNORECASE)


class JSONBody(BaseParser):
    """For the schema's sake a parser of Django REST framework; views call `read`, which needs no trust in headers."""

    media_type = "application/json"

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        return read((parser_context or {})["request"]._request)


def read(request: HttpRequest) -> dict[str, Any]:
    """The body as an object; an empty body is an object without members. Reads at most one byte over the limit."""
    limit: int = settings.WORKFLOWQ["MAX_BODY_BYTES"]
    data = _bytes(request, limit)
    if len(data) > limit:
        raise errors.PayloadTooLarge(limit)
    if not data:
        return {}
    if not _JSON.fullmatch(request.META.get("CONTENT_TYPE", "").strip()):
        raise errors.UnsupportedMediaType
    # As deep as is safe to look at: each document in the body is held to its own limit, and named if it fails.
    body = canonical.parse(data, max_bytes=limit, max_depth=canonical.DEPTH_CEILING)
    if not isinstance(body, dict):
        raise errors.Invalid("The body must be a JSON object.")
    return body


def _bytes(request: HttpRequest, limit: int) -> bytes:
    if request.META.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() != "identity":
        raise errors.UnsupportedMediaType("A body must not be compressed.")
    declared = _declared_length(request)
    if declared is not None and declared > limit:
        raise errors.PayloadTooLarge(limit)
    source: Any = request
    if declared is None and "wsgi.input" in request.META and "HTTP_TRANSFER_ENCODING" in request.META:
        # Django takes a body without a length for an empty one; some servers mark its end themselves.
        if not request.META.get("wsgi.input_terminated"):
            raise errors.LengthRequired
        source = request.META["wsgi.input"]
    data: bytes = source.read(limit + 1)
    if declared is not None and len(data) < declared:
        raise errors.Invalid("The body ended before its Content-Length.")
    return data


def _declared_length(request: HttpRequest) -> int | None:
    text = request.META.get("CONTENT_LENGTH") or ""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise errors.Invalid("Content-Length is not a number of bytes.")
    return int(text)
