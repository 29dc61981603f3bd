"""The endpoint on the standard library's HTTP server."""

from __future__ import annotations

import signal
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Optional

from .agent import MAX_BODY, Agent, headers_of
from .config import Config
from .context import Handler
from .flights import Reply, failure

SHUTDOWN_TIME = 10.0  # seconds that serve and connect wait for tasks in progress when they are stopped
DRAIN = 8 << 20  # bytes of a body too large that are passed over, so that its sender reads why


class Server(ThreadingHTTPServer):
    """Serves an agent. It listens when it is made."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, agent: Agent) -> None:
        host, port = agent.config.address()
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.agent = agent
        self._under_way = 0
        self._idle = threading.Condition()
        super().__init__((host, port), _Request)

    @property
    def url(self) -> str:
        """The endpoint, as seen from this machine."""
        host, port = self.server_address[:2]
        name = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{name}:{port}{self.agent.config.path}"

    def begin(self) -> None:
        """Counts a request."""
        with self._idle:
            self._under_way += 1

    def end(self) -> None:
        """Takes back a begin."""
        with self._idle:
            self._under_way -= 1
            self._idle.notify_all()

    def finish(self, seconds: float) -> None:
        """Waits for the requests under way."""
        with self._idle:
            self._idle.wait_for(lambda: self._under_way == 0, seconds)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is no failure of ours."""


class _Request(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds for a request to arrive
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.server.begin()
        try:
            reply = self._reply()
            self.send_response(reply.status)
            for name, value in headers_of(reply, self.command):
                self.send_header(name, value)
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)
            self.wfile.flush()
        finally:
            self.server.end()

    def _reply(self) -> Reply:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            self.close_connection = True
            return failure(411, "the length of the body is needed")
        size = int(length)
        body = self.rfile.read(min(size, MAX_BODY + 1))
        left = min(size - len(body), DRAIN)
        if size > MAX_BODY:
            self.close_connection = True
            while left > 0:
                part = self.rfile.read(min(left, 64 << 10))
                left = left - len(part) if part else 0
        elif len(body) < size:
            raise ConnectionError("the body was cut")
        return self.server.agent.handle(self.command, self.path, self.headers.get("Authorization", ""), body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        self.server.agent.config.logger.debug(format, *args)


def serve(config: Config, handler: Handler, stop: Optional[threading.Event] = None) -> None:
    """Makes an agent, listens on config.addr and serves until stop is set, or without one until SIGINT or SIGTERM;
    tasks at work are finished then, for at most ten seconds."""
    with Agent(config, handler) as agent, Server(agent) as server:
        stopped = stop or interrupted()
        accepting = threading.Thread(target=server.serve_forever, args=(0.05,), name="arena-server", daemon=True)
        accepting.start()
        config.logger.info("agent listens at %s", server.url)
        stopped.wait()
        until = time.monotonic() + SHUTDOWN_TIME
        server.shutdown()
        accepting.join()
        server.finish(until - time.monotonic())  # tasks that take longer are lost


def interrupted() -> threading.Event:
    """Returns an event that SIGINT and SIGTERM set."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    return stopped
