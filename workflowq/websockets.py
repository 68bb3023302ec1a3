"""What a websocket on an address without a live view is told."""

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, Scope


async def refuse(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Close before accepting, which the client sees as HTTP 403."""
    await receive()
    await send({"type": "websocket.close", "code": 4404, "reason": None})
