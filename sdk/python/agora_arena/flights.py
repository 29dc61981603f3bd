"""One piece of work for each task, however often the task is delivered."""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass
from typing import Deque, Dict, Optional, Tuple

KEPT_ANSWERS = 256  # for repeated deliveries

Key = Tuple[str, str, int, str, str]


@dataclass(frozen=True)
class Reply:
    """What goes back for a task."""

    status: int
    body: bytes
    ended: Optional["Flight"] = None
    """Present when a handler outlived the time limit: its work, which still runs."""


def failure(status: int, message: str) -> Reply:
    """A reply without an answer."""
    return Reply(status, json.dumps({"error": message}).encode())


class Flight:
    """The work on one task. Every delivery of the task waits for it."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._reply: Optional[Reply] = None

    def land(self, reply: Reply) -> None:
        """Lets go who waits."""
        self._reply = reply
        self._done.set()

    def landed(self) -> bool:
        """Reports whether the work is over."""
        return self._done.is_set()

    def wait(self, seconds: float) -> Optional[Reply]:
        """The reply; None when it is not there in time."""
        self._done.wait(max(0.0, seconds))
        return self._reply


class Flights:
    """Makes sure that a task delivered twice is worked on once. Answers are kept for later deliveries; a failure is
    not, so that the arena's second attempt is a new try."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: Dict[Key, Flight] = {}
        self._kept: Deque[Key] = deque()

    def join(self, key: Key) -> Tuple[Flight, bool]:
        """The flight of a task, and whether the caller is the first: it has to do the work and call finish."""
        with self._lock:
            old = self._by_key.get(key)
            if old is not None:
                return old, False
            flight = self._by_key[key] = Flight()
            return flight, True

    def finish(self, key: Key, flight: Flight, reply: Reply) -> None:
        """Ends a flight."""
        with self._lock:
            flight.land(reply)
            if reply.status != 200:
                del self._by_key[key]
                return
            self._kept.append(key)
            if len(self._kept) > KEPT_ANSWERS:
                del self._by_key[self._kept.popleft()]
