"""A pocket arena for the tests: it publishes keys, signs and posts tasks, and takes events."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import http.client
import json
import re
import select
import socket
import threading
import time
import unittest
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from agora_arena import Agent, Config
from agora_arena.server import Server

Members = Dict[str, Any]


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Arena:
    """Ends with the test."""

    def __init__(self, case: unittest.TestCase, jwks: Optional[Members] = None) -> None:
        self.case, self.jwks = case, jwks
        self.down, self.key_fetches, self.dials = False, 0, 0
        self.seen: List[Tuple[Members, Members]] = []  # claims and message
        self.grown = threading.Condition()
        self.keys: List[Any] = []
        self.deliveries: List[Tuple[int, bytes, int]] = []  # each poll gets the next, and waits when there is none
        self.refusals: List[Tuple[int, bytes, int]] = []  # instead of the reply to the next answers
        self.answers: List[Tuple[str, bytes]] = []
        self.polls = 0  # waiting now
        self.registered = 1  # the agent's max_concurrent
        self.ended = False
        case.addCleanup(self.end)
        self.rotate()
        arena = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def reply(self, status: int, body: bytes, retry_after: int = 0) -> None:
                self.send_response(status)
                self.send_header("Retry-After", str(retry_after))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                if arena.down:
                    return self.reply(503, b"")
                if self.path == "/v1/stream":
                    self.close_connection = True
                    return arena.serve_socket(self)
                if self.path.startswith("/v1/"):
                    return arena.pull(self, b"")
                arena.key_fetches += 1
                keys = [arena.public(i) for i in range(len(arena.keys))]
                return self.reply(200, json.dumps(arena.jwks or {"keys": keys}).encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if arena.down:
                    return self.reply(503, b"")
                if self.path != "/v1/stream":
                    return arena.pull(self, body)
                for line in body.splitlines():
                    arena.note(self.headers["Authorization"].split()[1], line)
                return self.reply(200, b"{}")

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.sockets: List[Any] = []
        case.addCleanup(self.server.server_close)
        case.addCleanup(self.server.shutdown)

    def rotate(self) -> None:
        """Publishes a new key, which signs from now on."""
        self.keys.append(ec.generate_private_key(ec.SECP256R1()))

    def public(self, i: int) -> Members:
        n = self.keys[i].public_key().public_numbers()
        point = {"x": b64(n.x.to_bytes(32, "big")), "y": b64(n.y.to_bytes(32, "big"))}
        return {"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": f"key_{i}", **point}

    def serve_socket(self, request: BaseHTTPRequestHandler) -> None:
        """Speaks as much WebSocket as a test needs: masked text frames in, none out."""
        accept = base64.b64encode(hashlib.sha1((request.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        request.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        self.dials += 1
        self.sockets.append(request.connection)
        token = ""
        while True:
            head = request.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                return
            size = head[1] & 127
            if size > 125:
                size = int.from_bytes(request.rfile.read(2 if size == 126 else 8), "big")
            mask, data = request.rfile.read(4), request.rfile.read(size)
            text = bytes(b ^ mask[i % 4] for i, b in enumerate(data))
            if head[0] & 15 == 1:
                message = json.loads(text)
                if message["type"] == "auth":
                    token = message["token"]
                else:
                    self.note(token, text)

    def note(self, token: str, line: bytes) -> None:
        claims = jwt.decode(token, options={"verify_signature": False})
        with self.grown:
            self.seen.append((claims, json.loads(line)))
            self.grown.notify_all()

    def events(self, n: int) -> List[Tuple[Members, Members]]:
        """The events, as soon as there are n."""
        with self.grown:
            self.case.assertTrue(self.grown.wait_for(lambda: len(self.seen) >= n, 30), f"{len(self.seen)} events of {n}")
            return list(self.seen)

    def offer(self, **change: Any) -> None:
        """Puts a task with changed members where the next poll finds it."""
        body, token = self.make(**change)
        head = f'{{"task_id": "{change.get("task_id", "tk_test")}", "token": "{token}", "attempt": 1, "task": '
        self.give(200, head.encode() + body + b"}")

    def give(self, status: int, body: bytes = b"", retry_after: int = 0) -> None:
        """Sets the reply to the next poll."""
        with self.grown:
            self.deliveries.append((status, body, retry_after))
            self.grown.notify_all()

    def until(self, condition: Callable[[], bool]) -> None:
        """Waits until the condition holds."""
        with self.grown:
            self.case.assertTrue(self.grown.wait_for(condition, 30), "waited in vain")

    def end(self) -> None:
        """Lets the polls go."""
        with self.grown:
            self.ended = True
            self.grown.notify_all()

    def pull(self, request: Any, body: bytes) -> None:
        """Replies to an agent that fetches its tasks."""
        answer = re.fullmatch(r"/v1/agents/ag_test/tasks/(\w+)/answer", request.path)
        if request.headers["Authorization"] != "Bearer ak_test":
            request.reply(401, b'{"code":"unauthorized","detail":"the key is not known"}')
        elif request.path == "/v1/me":
            request.reply(200, b'{"agent_id":"ag_test","owner_id":"ow_test","scope":"agent"}')
        elif request.path == "/v1/agents/ag_test":
            request.reply(200, json.dumps({"health": {"max_concurrent": self.registered}}).encode())
        elif answer and request.command == "POST":
            with self.grown:
                refusal = self.refusals.pop(0) if self.refusals else None
                if refusal is None:
                    self.answers.append((answer[1], body))
                self.grown.notify_all()
            request.reply(*(refusal or (202, b"{}")))
        elif request.path == "/v1/agents/ag_test/tasks?wait=50":
            with self.grown:
                self.polls += 1
                self.grown.notify_all()
                while not (self.deliveries or self.ended or cut(request.connection)):
                    self.grown.wait(0.02)
                self.polls -= 1
                self.grown.notify_all()
                reply = self.deliveries.pop(0) if self.deliveries and not cut(request.connection) else (204, b"", 0)
            try:
                request.reply(*reply)
            except ConnectionError:
                request.close_connection = True
        else:
            request.reply(404, b"{}")

    def serve(self, handler: Any, **config: Any) -> Tuple[Agent, str]:
        """Makes an agent and serves it on a port of its own until the test ends."""
        agent = Agent(Config(**{"arena": self.url, "addr": "127.0.0.1:0", "any_agent": True, **config}), handler)
        server = Server(agent)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        for clean in (agent.close, server.server_close, server.shutdown):
            self.case.addCleanup(clean)
        return agent, server.url

    def make(self, **change: Any) -> Tuple[bytes, str]:
        """A task with changed members, and its token."""
        now, limit = time.time(), change.get("time_limit_seconds", 10)
        deadline = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now + limit)) + f".{int(now % 1 * 1000):03d}Z"
        task = {
            "version": "1.0", "league": "trivia", "match_id": "m_test", "round": 1, "total_rounds": None,
            "task": {"description": "What is the capital of Australia?", "input_format": "string", "output_format": "string"},
            "time_limit_seconds": limit, "max_tokens": 500, "rules": [], "opponent_count": 1, "task_id": "tk_test", "attempt": 1,
            "deadline": deadline, **change,
        }
        body, expires = json.dumps(task).encode(), int(now + limit + 5)
        claims = {
            "agent_id": "ag_test", "sub": "ag_test", "aud": "ag_test", "iss": self.url, "iat": int(now) - 5, "exp": expires, "expires_at": expires,
            "jti": str(uuid.uuid4()), "match_id": task["match_id"], "round": task["round"], "bh": b64(hashlib.sha256(body).digest()),
        }
        kid = f"key_{len(self.keys) - 1}"
        return body, jwt.encode(claims, self.keys[-1], "ES256", {"kid": kid, "typ": "aap-task+jwt"})

    def ask(self, endpoint: str, **change: Any) -> Tuple[int, Members]:
        """Posts a task and reads the reply."""
        body, token = self.make(**change)
        return post(endpoint, body, f"Bearer {token}")


def cut(connection: socket.socket) -> bool:
    """Whether the client has gone."""
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""


def post(endpoint: str, body: bytes, authorization: Optional[str]) -> Tuple[int, Members]:
    headers = {"Content-Type": "application/json"}
    if authorization is not None:
        headers["Authorization"] = authorization
    status, _, data = request("POST", endpoint, body, headers)
    return status, json.loads(data)


def request(method: str, url: str, body: Optional[bytes] = None, headers: Optional[Dict[str, str]] = None) -> Tuple[int, Any, bytes]:
    u = urlsplit(url)
    connection = http.client.HTTPConnection(u.netloc, timeout=60)
    try:
        connection.request(method, u.path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def vectors(name: str) -> Members:
    """A file of sdk/vectors, with the texts that stand for long ones."""
    path = Path(__file__).resolve().parents[2] / "vectors" / name
    expanded: Members = expand(json.loads(path.read_text()))
    return expanded


def expand(v: Any) -> Any:
    if isinstance(v, list):
        return [expand(item) for item in v]
    if not isinstance(v, dict):
        return v
    if "repeat" in v:
        return v["repeat"] * v["times"]
    if "parts" in v:
        return "".join(expand(part) for part in v["parts"])
    return {name: expand(member) for name, member in v.items()}


def ask_asgi(app: Any, path: str, body: bytes, authorization: str) -> Tuple[int, Members]:
    """One request to an ASGI application, its body in two parts."""
    parts = [{"type": "http.request", "body": body[:9], "more_body": True}, {"type": "http.request", "body": body[9:]}]
    sent: List[Members] = []

    async def receive() -> Members:
        return parts.pop(0)

    async def send(message: Members) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": [(b"authorization", authorization.encode())]}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])
