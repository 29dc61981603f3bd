"""The endpoint as an ASGI application, for uvicorn, hypercorn, daphne or a part of a larger application."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Awaitable, Callable, Dict, MutableMapping

from .agent import MAX_BODY, Agent, headers_of

Message = MutableMapping[str, Any]


def asgi(agent: Agent) -> Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]:
    """An ASGI application that serves the agent at its path, and closes it at the end of its lifespan."""
    # Deliveries wait in threads: room for repeated ones beside those that are worked on.
    threads = ThreadPoolExecutor(4 * agent.config.max_concurrent + 8, "arena-delivery")

    async def app(scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send)
            return
        if scope["type"] != "http":
            raise ValueError(f"{scope['type']} is not served")
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            if len(body) <= MAX_BODY:
                body += message.get("body", b"")
            more = message.get("more_body", False)
        headers: Dict[bytes, bytes] = dict(scope["headers"])
        method, path = scope["method"], scope["path"]
        authorization = headers.get(b"authorization", b"").decode("latin-1")
        loop = asyncio.get_running_loop()
        reply = await loop.run_in_executor(threads, agent.handle, method, path, authorization, bytes(body))
        fields = [(name.lower().encode(), value.encode()) for name, value in headers_of(reply, method)]
        await send({"type": "http.response.start", "status": reply.status, "headers": fields})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else reply.body})

    async def lifespan(receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await asyncio.get_running_loop().run_in_executor(threads, agent.close)
                threads.shutdown(wait=False)
                await send({"type": "lifespan.shutdown.complete"})
                return

    return app
