"""Bounds bodies before Django sees them: under ASGI it would write all of one to disk before a view could refuse it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

PREFIX = "/api/"


def bounded(application: Application, most: int) -> Application:
    """The application, which gets no more than `most` bytes and one of any body under /api/; the API refuses those."""

    async def bounding(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        is_ours = scope["type"] == "http" and scope["path"].startswith(PREFIX)
        await application(scope, _cut(receive, most + 1) if is_ours else receive, send)

    return bounding


def _cut(receive: Receive, most: int) -> Receive:
    left = most

    async def cut() -> Message:
        nonlocal left
        if not left:
            # Nothing more is read. Whoever waits here for the client to go is cancelled once the answer is out.
            await asyncio.Event().wait()
        message = await receive()
        body = message.get("body", b"")
        if message["type"] != "http.request" or len(body) < left:
            left -= len(body)
            return message
        body, left = body[:left], 0
        return {"type": "http.request", "body": body, "more_body": False}

    return cut
