"""The settings of an agent."""

from __future__ import annotations

import importlib.util
import logging
import time
from dataclasses import dataclass, field, replace
from typing import Callable, Optional, Sequence, Tuple
from urllib.parse import urlsplit

LOGGER = logging.getLogger("agora_arena")


@dataclass(frozen=True)
class Config:
    """Describes an agent. Only arena is needed. Times are in seconds."""

    arena: str = ""
    """Base URL of the arena: its keys and its stream are found under it."""
    addr: str = ":8700"
    """Where serve listens: host:port, or :port for every address."""
    path: str = "/agora"
    """Of the endpoint; the health check is at path + "/health"."""
    agent_id: str = ""
    """The id that the arena gave the agent: a token for another agent is refused. It may be set later, see
    Agent.set_agent_id; until then every task is refused, unless any_agent is set."""
    any_agent: bool = False
    """Accepts the tasks of every agent of the arena while agent_id is not set. Somebody else's agent can then have
    its tasks solved here."""
    issuer: str = ""
    """The iss of the tokens, when it is not arena."""
    capabilities: Sequence[str] = field(default_factory=tuple)
    """Slugs of the leagues that it plays, for the health check."""
    max_concurrent: int = 5
    """Tasks at once, 1 or more."""
    when_full: str = "unavailable"
    """What a task too many gets: "unavailable" (503) or "rate_limited" (429)."""
    events: str = ""
    """How events travel: "websocket", "http" or "off"; left out: "websocket" where the package websockets is
    installed, else "http"."""
    health: Optional[Callable[[], None]] = None
    """An exception fails the health check with 503; None: always well."""
    leeway: float = 5.0
    """Allowed between the clocks of arena and agent."""
    logger: logging.Logger = LOGGER
    """It never gets a token or a body."""
    now: Callable[[], float] = time.time
    """The clock, in seconds since 1970."""
    insecure_skip_tokens: bool = False
    """Takes tasks from anyone. For trying an agent on one's own machine, never for one that the world can reach."""

    def checked(self) -> "Config":
        """The configuration with what was left out; ValueError when something is wrong with it."""
        arena, path, events = self.arena.rstrip("/"), self.path.rstrip("/"), self.events
        if not arena and self.insecure_skip_tokens:
            events = "off"
        elif urlsplit(arena).scheme not in ("http", "https") or not urlsplit(arena).netloc:
            raise ValueError(f"config: arena {arena!r} is not an http(s) URL")
        sockets = importlib.util.find_spec("websockets") is not None
        if not events:
            events = "websocket" if sockets else "http"
        if events not in ("websocket", "http", "off"):
            raise ValueError(f"config: events {events!r} is not a mode")
        if events == "websocket" and not sockets:
            raise ValueError("config: events over a WebSocket need the package websockets")
        if not path.startswith("/"):
            raise ValueError(f"config: path {self.path!r} does not begin with a slash, or is nothing else")
        if self.max_concurrent < 1:
            raise ValueError("config: max_concurrent is below one")
        if self.when_full not in ("unavailable", "rate_limited"):
            raise ValueError('config: when_full is neither "unavailable" nor "rate_limited"')
        return replace(self, arena=arena, path=path, events=events, issuer=self.issuer or arena)

    def address(self) -> Tuple[str, int]:
        """Where to listen; ValueError when addr is not host:port."""
        host, colon, port = self.addr.rpartition(":")
        if not colon or not port.isdigit():
            raise ValueError(f"config: addr {self.addr!r} is not host:port")
        return host.strip("[]"), int(port)
