from __future__ import annotations

import asyncio
import logging
import unittest
from typing import Awaitable, Callable, List, Optional

from agora_arena.links import QUEUE_SIZE, Link
from agora_arena.sinks import Final, Sink

LOG = logging.getLogger("agora_arena")


class FakeArena(Sink):
    """Takes events as its fields say."""

    def __init__(self) -> None:
        self.error: Optional[Exception] = None
        self.got: List[str] = []
        self.tried = asyncio.Event()
        self.hold: Optional[asyncio.Event] = None

    async def send(self, token: str, batch: List[bytes]) -> None:
        self.tried.set()
        if self.hold is not None:
            await self.hold.wait()
        if self.error is not None:
            raise self.error
        self.got += [f"{token}: {e.decode()}" for e in batch]
        batch.clear()

    async def close(self) -> None:
        pass


class Links(unittest.TestCase):
    def run_link(self, test: Callable[[FakeArena, Link], Awaitable[None]]) -> int:
        """Runs a test with a link and gives how many events were dropped."""
        dropped: List[int] = []

        async def main() -> None:
            arena = FakeArena()
            link = Link(arena, dropped.append, LOG)
            running = asyncio.ensure_future(link.run())
            await test(arena, link)
            running.cancel()
            await asyncio.wait([running])

        asyncio.run(asyncio.wait_for(main(), 30))
        return sum(dropped)

    async def again(self, arena: FakeArena) -> None:
        """Waits for the next try and what follows from it."""
        arena.tried.clear()
        await arena.tried.wait()
        for _ in range(5):
            await asyncio.sleep(0)

    def test_order_is_kept_through_failures(self) -> None:
        async def test(arena: FakeArena, link: Link) -> None:
            arena.error = OSError("down")
            link.push("a", b"1")
            await self.again(arena)
            link.push("a", b"2")
            arena.error = None
            await self.again(arena)
            self.assertEqual(arena.got, ["a: 1", "a: 2"])

        self.assertEqual(self.run_link(test), 0)

    def test_events_of_a_round_that_is_over_are_not_sent_as_the_next_ones(self) -> None:
        async def test(arena: FakeArena, link: Link) -> None:
            arena.error, arena.hold = OSError("down"), asyncio.Event()
            link.push("a", b"1")
            await self.again(arena)
            link.push("a", b"waits")
            link.push("b", b"2")  # while 1 is under way
            arena.hold.set()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            arena.error = None
            await self.again(arena)
            arena.error = Final("refused")
            link.push("b", b"3")
            await self.again(arena)
            arena.error = None
            link.push("b", b"4")  # b is refused for good
            link.push("c", b"5")
            await self.again(arena)
            self.assertEqual(arena.got, ["b: 2", "c: 5"])

        self.assertEqual(self.run_link(test), 4)

    def test_the_oldest_of_too_many_are_dropped_and_the_pace_is_kept(self) -> None:
        async def test(arena: FakeArena, link: Link) -> None:
            for i in range(QUEUE_SIZE + 4):
                link.push("a", str(i).encode())
            await self.again(arena)
            while len(arena.got) < 32:
                await self.again(arena)
            self.assertEqual(arena.got[0], "a: 4")
            self.assertLessEqual(len(arena.got), 48)

        self.assertGreaterEqual(self.run_link(test), 4 + QUEUE_SIZE - 48)
