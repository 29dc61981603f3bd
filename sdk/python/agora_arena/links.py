"""The way of events from handlers to the arena: one thread with an event loop, and in it one task for each match."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from typing import Callable, Dict, List, Tuple

from .sinks import Final, Sink

QUEUE_SIZE = 256  # events that wait; the oldest is dropped for the next
BATCH_SIZE = 16  # events handed over at once
FLUSH_TIME = 0.1
LINK_IDLE = 90.0
FIRST_PAUSE = 0.1  # after a failure; doubles
LONGEST_PAUSE = 3.0
EVENT_RATE = 20.0  # a second; the arena refuses more
EVENT_BURST = 40.0


class Link:
    """Carries the events of one match, whatever their round. All its methods belong to the loop's thread."""

    def __init__(self, sink: Sink, drop: Callable[[int], None], log: logging.Logger) -> None:
        self._sink, self._drop, self._log = sink, drop, log
        self._wake = asyncio.Event()
        self._token = ""  # of the queued events
        self._queue: List[bytes] = []
        self._broken = False  # nothing is sent under this token any more
        self._busy = False
        self._waiting: List[threading.Event] = []
        self._allowed, self._filled = EVENT_BURST, time.monotonic()

    def push(self, token: str, event: bytes) -> None:
        """Queues an event reported under token. Events of an earlier token are of a round that is over: the arena
        would take them for the new one's."""
        if token != self._token:
            self._forget(len(self._queue))
            self._token, self._broken = token, False
        if self._broken:
            self._drop(1)
            return
        if len(self._queue) == QUEUE_SIZE:
            self._forget(1)
        self._queue.append(event)
        self._busy = True
        self._wake.set()

    def when_idle(self, sent: threading.Event) -> None:
        """Sets sent when what was pushed is in the arena's hands, or there is no hope."""
        if self._busy:
            self._waiting.append(sent)
        else:
            sent.set()

    async def run(self) -> None:
        """Sends what is pushed until the link was idle for long; a cancel drops what waits."""
        pause = FIRST_PAUSE
        batch: List[bytes] = []
        try:
            while True:
                if not self._queue:
                    self._release()
                    self._wake.clear()
                    try:
                        await asyncio.wait_for(self._wake.wait(), LINK_IDLE)
                    except asyncio.TimeoutError:
                        if not self._queue:
                            return
                token, batch = self._token, self._queue[:BATCH_SIZE]
                del self._queue[:BATCH_SIZE]
                await self._pace(len(batch))
                try:
                    await self._sink.send(token, batch)
                    pause = FIRST_PAUSE
                except Final as error:
                    self._log.debug("events refused: %s", error)
                    self._give_up(token, batch)
                except Exception as error:  # noqa: BLE001 - whatever a network does
                    self._log.debug("events not sent: %s", error)
                    self._put_back(token, batch)
                    await asyncio.sleep(pause * (1 + random.random()))  # noqa: S311 - jitter, not a secret
                    pause = min(2 * pause, LONGEST_PAUSE)
                batch = []
        finally:
            self._forget(len(self._queue))
            self._drop(len(batch))
            self._release()
            await self._sink.close()

    async def _pace(self, n: int) -> None:
        """Waits until the arena takes n more events."""
        now = time.monotonic()
        self._allowed = min(EVENT_BURST, self._allowed + (now - self._filled) * EVENT_RATE) - n
        self._filled = now
        if self._allowed < 0:
            await asyncio.sleep(-self._allowed / EVENT_RATE)

    def _put_back(self, token: str, batch: List[bytes]) -> None:
        """Makes a failed batch the next one again, and ends all waits for it."""
        self._release()
        if token == self._token:
            self._queue[:0] = batch
            self._forget(max(0, len(self._queue) - QUEUE_SIZE))
        else:
            self._drop(len(batch))
        batch.clear()

    def _give_up(self, token: str, batch: List[bytes]) -> None:
        self._drop(len(batch))
        batch.clear()
        if token == self._token:
            self._broken = True
            self._forget(len(self._queue))

    def _forget(self, n: int) -> None:
        self._drop(n)
        del self._queue[:n]

    def _release(self) -> None:
        self._busy = False
        for sent in self._waiting:
            sent.set()
        self._waiting.clear()


class Links:
    """The links of an agent by agent and match. Its methods may be called from any thread and do not wait, but for
    flush and close."""

    def __init__(self, make_sink: Callable[[], Sink], log: logging.Logger) -> None:
        self._make_sink, self._log = make_sink, log
        self._loop = asyncio.new_event_loop()
        self._links: Dict[Tuple[str, str], Link] = {}
        self._lock = threading.Lock()
        self._closed = False
        self.dropped = 0
        self._thread = threading.Thread(target=self._loop.run_forever, name="arena-events", daemon=True)
        self._thread.start()

    def drop(self, n: int = 1) -> None:
        """Counts events that do not reach the arena."""
        with self._lock:
            self.dropped += n

    def push(self, key: Tuple[str, str], token: str, event: bytes) -> None:
        """Queues an event."""
        if not self._call(lambda: self._link(key).push(token, event)):
            self.drop()

    def flush(self, key: Tuple[str, str]) -> None:
        """Waits until what was pushed is in the arena's hands, 100 ms have passed, or there is no hope."""
        sent = threading.Event()

        def ask() -> None:
            link = self._links.get(key)
            link.when_idle(sent) if link else sent.set()

        if self._call(ask):
            sent.wait(FLUSH_TIME)

    def close(self) -> None:
        """Gives up on what waits and ends the thread."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._cancel(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, call: Callable[[], None]) -> bool:
        with self._lock:
            if not self._closed:
                self._loop.call_soon_threadsafe(call)
            return not self._closed

    def _link(self, key: Tuple[str, str]) -> Link:
        link = self._links.get(key)
        if link is None:
            link = self._links[key] = Link(self._make_sink(), self.drop, self._log)
            running = self._loop.create_task(link.run())
            running.add_done_callback(lambda _: self._links.pop(key, None))
        return link

    async def _cancel(self) -> None:
        tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        for t in tasks:
            t.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_default_executor()
