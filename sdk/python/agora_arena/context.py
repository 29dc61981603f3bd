"""The time that a handler has."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Awaitable, Callable, Optional, Union

from .errors import TaskTimeout

if TYPE_CHECKING:
    from .events import Events
    from .task import Answer, Task


class Context:
    """Ends a moment before the time limit of the task, and when the agent is closed."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._closed = threading.Event()
        self._on_end: Optional[Callable[[], None]] = None
        self._lock = threading.Lock()

    def remaining(self) -> float:
        """Seconds left, 0 or more: a good timeout for what the handler waits for."""
        return 0.0 if self._closed.is_set() else max(0.0, self._deadline - time.monotonic())

    def done(self) -> bool:
        """Whether no caller waits for the answer any more."""
        return self.remaining() <= 0

    def wait(self, seconds: float) -> bool:
        """Waits, but not beyond the end; it returns True when the context is done."""
        self._closed.wait(min(max(0.0, seconds), self.remaining()))
        return self.done()

    def check(self) -> None:
        """Raises TaskTimeout when the context is done."""
        if self.done():
            raise TaskTimeout("the task took too long")

    def _end(self) -> None:
        with self._lock:
            self._closed.set()
            if self._on_end is not None:
                self._on_end()

    def _when_ended(self, call: Optional[Callable[[], None]]) -> None:
        with self._lock:
            self._on_end = call
            if call is not None and self._closed.is_set():
                call()


Handler = Callable[[Context, "Task", "Events"], Union["Answer", Awaitable["Answer"]]]
"""Answers one task. It may be called many times at once, each in a thread of its own; each call has its own task and
events. An async function gets an event loop of its own, and is cancelled when its time is over."""
