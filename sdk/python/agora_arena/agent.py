"""The AAP endpoint, apart from the server that carries it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from functools import partial
from typing import Awaitable, Optional, Set, Tuple

from .config import Config
from .context import Context, Handler
from .errors import status_of
from .events import Events
from .flights import Flight, Flights, Key, Reply, failure
from .links import Links
from .sinks import PostSink, Sink, SocketSink
from .task import Answer, Task, decode_task, encode_answer
from .tokens import Claims, NoKeys, Unauthorized, Verifier

VERSION = "1.0"
"""The AAP version that the package speaks."""

MAX_BODY = 1 << 20  # the most that is read of a task

UNAUTHORIZED = "not a token of this arena for this task"
FAILURES = {
    408: "the task took too long", 429: "the agent is rate limited for now",
    500: "the agent failed",  # the error's text is for the log of the owner, not for the arena
    503: "the agent is not available",
}


class Agent:
    """Answers the task POST and the health check. It must be closed; as a context manager it closes itself. server.py
    serves it with the standard library, and asgi with any ASGI server; connect.py feeds it with fetched tasks."""

    def __init__(self, config: Config, handler: Handler) -> None:
        """Makes an agent and begins to read the arena's keys. The arena need not be there yet. ValueError when
        something is wrong with the configuration."""
        if not callable(handler):
            raise ValueError("a handler is needed")
        self.config = config.checked()
        self._handler = handler
        self._verifier = None if self.config.insecure_skip_tokens else Verifier(self.config)
        self._links = None if self.config.events == "off" else Links(self._sink, self.config.logger)
        self._flights = Flights()
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._at_work: Set[Context] = set()
        self._closed = False
        self._latency = 0.0  # moving mean of answer times, in seconds

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @property
    def dropped_events(self) -> int:
        """How many events did not reach the arena."""
        return self._links.dropped if self._links else 0

    def set_agent_id(self, agent_id: str) -> None:
        """Tells the agent its id, once the arena has given it one. From then on tokens for other agents are refused."""
        if self._verifier is not None:
            self._verifier.agent_id = agent_id

    def close(self) -> None:
        """Ends the contexts of all handlers at work and waits for them. Tasks that come later get 503."""
        with self._lock:
            self._closed = True
            contexts = list(self._at_work)
        for ctx in contexts:
            ctx._end()
        with self._idle:
            self._idle.wait_for(lambda: not self._at_work)
        if self._verifier is not None:
            self._verifier.close()
        if self._links is not None:
            self._links.close()

    def handle(self, method: str, path: str, authorization: str, body: bytes) -> Reply:
        """The reply to a request, whose body may be cut after MAX_BODY + 1 bytes. It waits for the handler."""
        path = path.partition("?")[0].rstrip("/")
        if path == self.config.path:
            return self._task(authorization, body) if method == "POST" else failure(405, "tasks are sent by POST")
        if path == self.config.path + "/health":
            return self._health() if method in ("GET", "HEAD") else failure(405, "the health check is a GET")
        return failure(404, "not found")

    def _health(self) -> Reply:
        well = not self._closed
        try:
            if self.config.health is not None:
                self.config.health()
        except Exception:  # noqa: BLE001 - whatever it raises
            well = False
        body = {
            "status": "ok" if well else "unavailable", "version": VERSION, "capabilities": list(self.config.capabilities),
            "avg_latency_ms": round(self._latency * 1000), "max_concurrent": self.config.max_concurrent,
        }
        return Reply(200 if well else 503, json.dumps(body).encode())

    def _task(self, authorization: str, body: bytes) -> Reply:
        if len(body) > MAX_BODY:
            return failure(413, "the task is over 1 MiB")
        return self._deliver(bearer(authorization), body)

    def _deliver(self, token: str, body: bytes) -> Reply:
        """Returns the reply to a task, given the bytes of its body and its token."""
        arrived, clock = time.monotonic(), self.config.now()
        claims: Optional[Claims] = None
        try:
            if self._verifier is not None:
                claims = self._verifier.verify(token, body)
            task = decode_task(body)
            if claims is not None and (claims.match_id != task.match_id or not claims.of_match and claims.round != task.round):
                raise Unauthorized("the token is for another task")
        except NoKeys as error:  # not the agent's fault: leave the match rather than lose it
            return failure(503, str(error))
        except Unauthorized as error:
            self.config.logger.warning("task refused: %s", error)
            return failure(401, UNAUTHORIZED)
        except ValueError as error:
            return failure(400, f"the body is not a task: {error}")
        task.claims = claims
        work, wait = task.times(clock)
        return self._answer(task, token, arrived + work, arrived + wait)

    def _answer(self, task: Task, token: str, work_until: float, wait_until: float) -> Reply:
        """The reply to the task: from work that is running or done, else from new work."""
        key = task.key()
        while True:
            flight, first = self._flights.join(key)
            if first:
                self._take_off(task, token, work_until - time.monotonic(), key, flight)
            reply = flight.wait(wait_until - time.monotonic())
            if reply is None:
                return Reply(408, failure(408, FAILURES[408]).body, ended=flight)
            if first or reply.status == 200:
                return reply
            # The delivery before this one failed: this one is a new try.

    def _take_off(self, task: Task, token: str, limit: float, key: Key, flight: Flight) -> None:
        """Starts the work, or ends the flight when there is no room for it."""
        ctx = Context(limit)
        with self._lock:
            refusal = 0
            if self._closed:
                refusal = 503
            elif len(self._at_work) >= self.config.max_concurrent:
                refusal = 429 if self.config.when_full == "rate_limited" else 503
            else:
                self._at_work.add(ctx)
        if refusal:
            self._flights.finish(key, flight, failure(refusal, FAILURES[refusal]))
            return
        threading.Thread(target=self._work, args=(ctx, task, token, key, flight), name="arena-task", daemon=True).start()

    def _work(self, ctx: Context, task: Task, token: str, key: Key, flight: Flight) -> None:
        reply = failure(500, FAILURES[500])
        try:
            reply = self._reply(ctx, task, token)
        finally:
            with self._idle:  # before the reply: the next task may follow it at once
                self._at_work.discard(ctx)
                self._idle.notify_all()
            self._flights.finish(key, flight, reply)

    def _reply(self, ctx: Context, task: Task, token: str) -> Reply:
        began = time.monotonic()
        match = (task.claims.agent_id if task.claims else "", task.match_id)
        links = self._links
        events = Events()
        if links is not None and task.claims is not None:
            events = Events(ctx, partial(links.push, match, token), links.drop)
        try:
            answer = self._call(ctx, task, events)
            ctx.check()  # the caller has gone
            took = time.monotonic() - began
            reply = Reply(200, encode_answer(events._fill(answer) if isinstance(answer, Answer) else answer, took))
        except Exception as error:  # noqa: BLE001 - whatever a handler raises
            self.config.logger.warning("task not answered: match %s, round %d", task.match_id, task.round, exc_info=error)
            status = 503 if self._closed else status_of(error)
            return failure(status, FAILURES[status])
        finally:
            events._shut = True
        with self._lock:  # a moving mean over about the last ten
            self._latency += (took - self._latency) / (10 if self._latency else 1)
        if links is not None:
            links.flush(match)
        return reply

    def _call(self, ctx: Context, task: Task, events: Events) -> Answer:
        result = self._handler(ctx, task, events)
        if isinstance(result, Answer):
            return result

        async def in_time(result: Awaitable[Answer]) -> Answer:
            work = asyncio.ensure_future(result)
            loop = asyncio.get_running_loop()
            ctx._when_ended(lambda: void(loop.call_soon_threadsafe(work.cancel)))
            try:
                return await asyncio.wait_for(work, ctx.remaining())
            except asyncio.CancelledError:
                raise asyncio.TimeoutError from None
            finally:
                ctx._when_ended(None)

        return asyncio.run(in_time(result))

    def _sink(self) -> Sink:
        return PostSink(self.config.arena) if self.config.events == "http" else SocketSink(self.config.arena)


def void(_: object) -> None:
    """Forgets a result."""


def bearer(authorization: str) -> str:
    """The bearer token of a header. The AAP text shows it in quotes; they are passed over."""
    scheme, _, token = authorization.partition(" ")
    return token.strip().strip('"') if scheme.lower() == "bearer" else ""


def headers_of(reply: Reply, method: str) -> Tuple[Tuple[str, str], ...]:
    """The headers that go with a reply."""
    headers: Tuple[Tuple[str, str], ...] = (("Content-Type", "application/json"), ("Content-Length", str(len(reply.body))))
    if reply.status == 405:
        headers += (("Allow", "GET, HEAD" if method == "POST" else "POST"),)
    return headers
