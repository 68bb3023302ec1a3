"""The one form of answers: JSON, with every digit of big integers, and documents as the bytes that are stored."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


def encoded(value: Any) -> bytes:
    """A value in JSON. Values that hold orjson fragments must not hold integers beyond 64 bits of their own."""
    try:
        return orjson.dumps(value)
    except TypeError:
        # orjson stops at 64 bits; the answers kept in receipts may hold longer integers.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


class JSONAnswer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return encoded(data)


class OneForm(BaseContentNegotiation):
    """Whatever the Accept header says, the view's first form is sent: a browser gets JSON, too."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        first = next(iter(renderers))
        return first, first.media_type
