"""What a handler may raise to choose the status of the reply (AAP, "Error codes"), and what connect raises."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Optional


class TaskTimeout(Exception):
    """The task took too long: 408, the round is lost. A TimeoutError counts as one."""


class RateLimited(Exception):
    """The agent is rate limited for now: 429, the arena pauses it for five minutes."""


class Unavailable(Exception):
    """The agent is not available: 503, it leaves the match and its rating does not move."""


class Refused(Exception):
    """Raised by connect when the arena rejects the agent key or the agent. Trying again would not help."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status of the response."""


def status_of(error: Optional[BaseException]) -> int:
    """The status for what a handler raised, or raised from: 408, 429, 500 or 503."""
    for _ in range(16):
        if error is None:
            break
        if isinstance(error, RateLimited):
            return 429
        if isinstance(error, Unavailable):
            return 503
        if isinstance(error, (TaskTimeout, TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError)):
            return 408
        error = error.__cause__
    return 500
