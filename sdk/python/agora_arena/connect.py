"""An agent without an open port: it fetches its tasks from the arena."""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import threading
import time
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Optional, TypeVar
from urllib.parse import quote, urlsplit

from .agent import Agent
from .config import Config
from .context import Handler
from .errors import Refused
from .server import SHUTDOWN_TIME, interrupted

WAIT = 50  # seconds for a task, per poll; proxies cut idle requests at 60
POLL_TIME = WAIT + 15.0
REQUEST_TIME = 10.0
EMPTY_POLL_TIME = 0.5  # between polls that return nothing at once
FIRST_PAUSE = 0.25  # after a failure; doubles
LONGEST_PAUSE = 15.0
LONGEST_RETRY_AFTER = 300.0
ANSWER_TRIES = 8
MOST_CONCURRENT = 1000  # what an agent may be registered with
LAST_ANSWER_TIME = 2.0  # for answers after the last handler has ended
MAX_REPLY = (1 << 20) + (64 << 10)  # bytes: a task and what is around it
PASSED_ON = (408, 429, 500, 503)  # statuses that an answer may state

T = TypeVar("T")


class Failed(Exception):
    """A request failed and may be repeated after some seconds."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True)
class Delivery:
    """A task as it came from the arena."""

    task_id: str
    token: str
    body: bytes
    """The bytes that the token was issued for."""


def connect(
    arena: str, agent_key: str, handler: Handler, *, max_concurrent: Optional[int] = None, config: Optional[Config] = None, stop: Optional[threading.Event] = None,
) -> None:
    """Plays without an open port: fetches tasks with the agent's key and posts the answers. It works on as many tasks at
    once as the agent was registered with, or on max_concurrent if that is less. It returns after stop is set, or without one after SIGINT or SIGTERM; tasks in progress get up to ten
    seconds to finish. It reconnects when the arena is unreachable. Refused is raised when the arena rejects the key or
    the agent, ValueError for a wrong setting. More settings are in config; settings of an endpoint have no effect."""
    if not re.fullmatch(r"[\x21-\x7e]+", agent_key):
        raise ValueError("agent_key is empty or contains spaces")
    settings = replace(config or Config(), arena=arena, max_concurrent=MOST_CONCURRENT if max_concurrent is None else max_concurrent)
    with Agent(settings, handler) as agent:
        halted = interrupted() if stop is None else threading.Event()
        if stop is not None:
            threading.Thread(target=_pass_on, args=(stop, halted), name="arena-stop", daemon=True).start()
        _Client(agent, agent_key, halted).run()


def _pass_on(stop: threading.Event, halted: threading.Event) -> None:
    stop.wait()
    halted.set()


class _Client:
    def __init__(self, agent: Agent, key: str, halted: threading.Event) -> None:
        self._agent, self._config, self._halted = agent, agent.config, halted
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        self._over = threading.Event()  # no more answers either
        self._failure: Optional[BaseException] = None
        self._lock = threading.Lock()
        self._waiting: List["_Connection"] = []

    def run(self) -> None:
        """Plays until halted is set, or the arena rejects the agent."""
        player = threading.Thread(target=self._guarded(self._play), name="arena-connect", daemon=True)
        player.start()
        self._halted.wait()
        with self._lock:
            for connection in self._waiting:
                connection.cut()
        player.join(SHUTDOWN_TIME)
        self._agent.close()  # handlers that take longer leave their matches
        player.join(LAST_ANSWER_TIME)
        self._over.set()
        if self._failure is not None:
            raise self._failure

    def _guarded(self, work: Callable[[], None]) -> Callable[[], None]:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - run raises it
                self._failure = self._failure or error
            finally:
                self._halted.set()  # one that ends ends them all

        return guarded

    def _play(self) -> None:
        agent_id: Optional[str] = self._config.agent_id
        with closing(_Connection(self._config.arena)) as connection:
            agent_id = agent_id or self._retry(connection, self._me)
            path = f"/v1/agents/{quote(agent_id or '', safe='')}"
            registered = self._retry(connection, lambda c: self._registered(c, path)) if agent_id else None
        if agent_id is None or registered is None:
            return
        self._agent.set_agent_id(agent_id)
        count = min(self._config.max_concurrent, registered)
        self._config.logger.info("agent %s connected to %s, tasks at once: %d", agent_id, self._config.arena, count)
        loops = [threading.Thread(target=self._guarded(lambda: self._loop(path + "/tasks")), name="arena-poll", daemon=True) for _ in range(count)]
        for loop in loops:
            loop.start()
        for loop in loops:
            loop.join()

    def _me(self, connection: "_Connection") -> str:
        """Returns the id of the agent that the key belongs to."""
        me = json.loads(self._ask(connection, "/v1/me", REQUEST_TIME))
        agent_id = me.get("agent_id") if isinstance(me, dict) else None
        if not isinstance(agent_id, str) or not agent_id:
            raise Refused(403, "the key is not an agent key: create one with POST /v1/agents/{id}/keys")
        return agent_id

    def _registered(self, connection: "_Connection", path: str) -> int:
        """Returns how many tasks the agent was registered to work on at once."""
        agent = json.loads(self._ask(connection, path, REQUEST_TIME))
        count = agent.get("max_concurrent") or agent.get("health", {}).get("max_concurrent")
        return min(count, MOST_CONCURRENT) if isinstance(count, int) and count >= 1 else 1

    def _loop(self, path: str) -> None:
        with closing(_Connection(self._config.arena)) as connection:
            while True:
                delivery = self._retry(connection, lambda c: self._poll(c, path))
                if delivery is None:
                    return
                self._work(connection, path, delivery)

    def _retry(self, connection: "_Connection", call: Callable[["_Connection"], Optional[T]]) -> Optional[T]:
        """Calls call until it returns something; None: stopped. It raises what cannot be repaired by waiting."""
        pause = FIRST_PAUSE
        while not self._halted.is_set():
            try:
                result = call(connection)
                if result is not None:
                    return result
                pause = FIRST_PAUSE
            except Refused:
                raise
            except Exception as error:  # noqa: BLE001 - whatever a broken arena sends
                connection.close()
                if self._halted.is_set():
                    break
                wait = max(jitter(pause), getattr(error, "retry_after", 0.0))
                self._config.logger.warning("arena not reached, trying again in %.1f s: %s", wait, error)
                self._halted.wait(wait)
                pause = min(2 * pause, LONGEST_PAUSE)
        return None

    def _poll(self, connection: "_Connection", path: str) -> Optional[Delivery]:
        asked = time.monotonic()
        text = self._ask(connection, f"{path}?wait={WAIT}", POLL_TIME)
        if not text:
            if time.monotonic() - asked < EMPTY_POLL_TIME:
                self._halted.wait(jitter(EMPTY_POLL_TIME))
            return None
        members = raw_members(text)
        task_id, token = json.loads(members.get("task_id", "0")), json.loads(members.get("token", "0"))
        if not isinstance(task_id, str) or not isinstance(token, str) or "task" not in members:
            raise ValueError("the delivery has no task, task_id or token")
        return Delivery(task_id, token, members["task"].encode())

    def _work(self, connection: "_Connection", path: str, delivery: Delivery) -> None:
        reply = self._agent._deliver(delivery.token, delivery.body)
        status = reply.status if reply.status in PASSED_ON else 500
        body = reply.body if reply.status == 200 else json.dumps({"status": status}).encode()
        self._answer(connection, f"{path}/{quote(delivery.task_id, safe='')}/answer", body)
        # A handler that ignores its time limit still occupies its slot.
        while reply.ended is not None and not reply.ended.landed() and not self._halted.is_set():
            reply.ended.wait(0.1)

    def _answer(self, connection: "_Connection", path: str, body: bytes) -> None:
        pause = FIRST_PAUSE / 2
        for tries in range(1, ANSWER_TRIES + 1):
            try:
                checked(*connection.request("POST", path, self._headers, body, REQUEST_TIME))
                return
            except Exception as error:  # noqa: BLE001 - whatever a broken arena sends
                connection.close()
                if isinstance(error, Refused) and error.status == 401:
                    raise
                self._config.logger.warning("answer not accepted: %s", error)
                if isinstance(error, Refused) or tries == ANSWER_TRIES:
                    return
                if self._over.wait(max(jitter(pause), getattr(error, "retry_after", 0.0))):
                    return
                pause *= 2

    def _ask(self, connection: "_Connection", path: str, seconds: float) -> str:
        """Sends a GET that ends when the agent is stopped."""
        with self._lock:
            self._waiting.append(connection)
        try:
            return checked(*connection.request("GET", path, self._headers, None, seconds, self._halted.is_set))
        finally:
            with self._lock:
                self._waiting.remove(connection)


class _Connection:
    """One connection to the arena, which is kept for the next request. It follows no redirect."""

    def __init__(self, arena: str) -> None:
        url = urlsplit(arena)
        self._path = url.path
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        self._http = kind(url.netloc, timeout=REQUEST_TIME)
        self._lock = threading.Lock()

    def request(
        self, method: str, path: str, headers: Dict[str, str], body: Optional[bytes], seconds: float, given_up: Callable[[], bool] = lambda: False,
    ) -> "tuple[int, str, str]":
        """Sends a request; the status, the Retry-After and the text of the response. A connection that the arena has
        closed in the meantime is opened again."""
        kept = self._http.sock is not None
        try:
            return self._request(method, path, headers, body, seconds, given_up)
        except ConnectionError:
            self.close()
            if not kept or given_up():
                raise
            return self._request(method, path, headers, body, seconds, given_up)

    def _request(
        self, method: str, path: str, headers: Dict[str, str], body: Optional[bytes], seconds: float, given_up: Callable[[], bool],
    ) -> "tuple[int, str, str]":
        if self._http.sock is None:
            self._http.timeout = REQUEST_TIME
            self._http.connect()
        sock: Any = self._http.sock
        sock.settimeout(seconds)
        if given_up():  # before cut could find the socket
            raise ConnectionAbortedError("stopped")
        if body is not None:
            headers = {**headers, "Content-Type": "application/json"}
        self._http.request(method, self._path + path, body, headers)
        response = self._http.getresponse()
        data = response.read(MAX_REPLY + 1)
        if len(data) > MAX_REPLY:
            raise ValueError("the response is too large")
        return response.status, response.headers.get("Retry-After", ""), data.decode()

    def cut(self) -> None:
        """Ends the request that waits, from another thread."""
        sock = self._http.sock
        try:
            if sock is not None:
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # without the close of TLS, which belongs to the other thread
        except OSError:
            pass  # it is closed already

    def close(self) -> None:
        """Closes the connection; the next request opens it again."""
        self._http.close()


def checked(status: int, retry_after: str, text: str) -> str:
    """Returns the text of a 2xx response; it raises Refused or Failed for another status."""
    if 200 <= status < 300:
        return text
    problem = str(status)
    try:
        p = json.loads(text)
        problem = " ".join(str(part) for part in (status, p.get("code"), p.get("detail") or p.get("title")) if part)[:500]
    except (ValueError, AttributeError, RecursionError):
        pass  # not a problem of RFC 9457
    message = f"the arena rejects this agent key: {problem}" if status == 401 else f"the arena answers {problem}"
    if status < 500 and status not in (408, 425, 429):
        raise Refused(status, message)
    seconds = float(retry_after) if re.fullmatch(r"[0-9]{1,9}", retry_after) else 0.0
    raise Failed(message, min(seconds, LONGEST_RETRY_AFTER))


def raw_members(text: str) -> Dict[str, str]:
    """Returns the members of a JSON object exactly as they were written; of a repeated one the last. ValueError when the
    text is not such an object."""
    decoder, space = json.JSONDecoder(), re.compile(r"[ \t\r\n]*")

    def skip(at: int, wanted: str) -> int:
        at = space.match(text, at).end()  # type: ignore[union-attr] # it matches nothing, too
        if text[at:at + 1] not in wanted or at == len(text):
            raise ValueError(f"{wanted!r} is missing at {at}")
        return space.match(text, at + 1).end()  # type: ignore[union-attr]

    members: Dict[str, str] = {}
    at = skip(0, "{")
    while text[at:at + 1] != "}":
        key, end = decoder.raw_decode(text, at)
        at = skip(end, ":")
        _, end = decoder.raw_decode(text, at)
        members[str(key)] = text[at:end]
        at = space.match(text, end).end()  # type: ignore[union-attr]
        if text[at:at + 1] != "}":
            at = skip(at, ",")
    return members


def jitter(seconds: float) -> float:
    """Half to all of seconds, so that many agents do not come back at once."""
    return seconds * random.uniform(0.5, 1)  # noqa: S311 - no secret
