"""The two ways by which events reach the arena."""

from __future__ import annotations

import asyncio
import importlib
import json
import urllib.error
import urllib.request
from typing import Any, List, Optional

from .tokens import opener

SEND_TIME = 3.0  # seconds for one batch, the dial included

# Close codes of the arena's stream after which the socket is not opened again under the same token: bad request,
# token, forged identity, replaced, too many.
FINAL_CODES = (4400, 4401, 4403, 4409, 4429)


class Final(Exception):
    """The arena accepts no more events under this token."""


class Sink:
    """Hands events to the arena."""

    async def send(self, token: str, batch: List[bytes]) -> None:
        """Hands over a batch in order and takes what went off it. The rest is sent again unless Final is raised."""
        raise NotImplementedError

    async def close(self) -> None:
        """Ends the connection."""


class SocketSink(Sink):
    """Sends over one WebSocket, which lives as long as the match: the token of each round is handed in by a message."""

    def __init__(self, arena: str) -> None:
        self._url = "ws" + arena[len("http"):] + "/v1/stream"
        self._socket: Any = None
        self._reader: Optional["asyncio.Task[None]"] = None
        self._token = ""
        self._final = ""  # the token under which the socket was closed for good

    async def send(self, token: str, batch: List[bytes]) -> None:
        await asyncio.wait_for(self._send(token, batch), SEND_TIME)

    async def _send(self, token: str, batch: List[bytes]) -> None:
        websockets: Any = importlib.import_module("websockets")  # not everyone has it
        if token == self._final:
            raise Final("the stream was closed for good")
        if self._socket is None or self._reader is None or self._reader.done():
            await self.close()
            self._socket = await websockets.connect(self._url, compression=None, max_size=1 << 20, close_timeout=1)
            self._reader = asyncio.ensure_future(self._read(self._socket))
            self._token = ""
        try:
            if token != self._token:
                self._token = token
                await self._socket.send(json.dumps({"type": "auth", "token": token}))
            while batch:
                await self._socket.send(batch[0].decode())
                batch.pop(0)
        except websockets.ConnectionClosed as error:
            raise ConnectionError("the stream is closed") from error

    async def _read(self, socket: Any) -> None:
        """Reads what the arena says until the socket ends."""
        try:
            async for _ in socket:
                pass
        except Exception:  # noqa: BLE001, S110 - the code below says enough
            pass
        if socket.close_code in FINAL_CODES:
            self._final = self._token

    async def close(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            socket.transport.abort()  # without the handshake, which would wait for an arena that is gone
        if self._reader is not None:
            await asyncio.wait([self._reader])


class PostSink(Sink):
    """Sends each batch as one POST of NDJSON."""

    def __init__(self, arena: str) -> None:
        self._url = arena + "/v1/stream"

    async def send(self, token: str, batch: List[bytes]) -> None:
        body = b"\n".join(batch) + b"\n"
        await asyncio.get_running_loop().run_in_executor(None, self._post, token, body)
        batch.clear()  # taken, or refused for good: the round has closed

    def _post(self, token: str, body: bytes) -> None:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            with opener().open(request, timeout=SEND_TIME) as response:
                response.read(64 << 10)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in (401, 403, 429):
                raise Final(f"status {error.code}") from None
            if error.code >= 500:
                raise
