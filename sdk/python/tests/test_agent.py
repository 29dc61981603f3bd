from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, List

from agora_arena import Agent, Answer, Config, Context, Events, RateLimited, Task, TaskTimeout, Unavailable, asgi, serve
from tests.pocket import Arena, ask_asgi, post, request

logging.getLogger("agora_arena").addHandler(logging.NullHandler())
logging.getLogger("agora_arena").propagate = False

WAIT = 30  # seconds after which a test that waits in vain ends


def canberra(_ctx: Context, _task: Task, _events: Events) -> Answer:
    return Answer("Canberra")


class Statuses(unittest.TestCase):
    def test_what_a_handler_raises_chooses_the_status(self) -> None:
        def handler(_ctx: Context, task: Task, _events: Events) -> Answer:
            if task.description == "429":
                try:
                    raise RateLimited
                except RateLimited as error:
                    raise ValueError("model") from error
            if task.description == "nothing":
                return None  # type: ignore[return-value]
            raise {"408": TaskTimeout, "408 too": socket.timeout, "503": Unavailable}.get(task.description, ValueError)("secret detail")

        arena = Arena(self)
        _, endpoint = arena.serve(handler)
        for description, want in {"408": 408, "408 too": 408, "429": 429, "503": 503, "nothing": 500, "other": 500}.items():
            status, reply = arena.ask(endpoint, match_id=description, task={"description": description})
            self.assertEqual(status, want, description)
            self.assertNotIn("secret", json.dumps(reply))

    def test_a_task_that_asks_for_another_move_is_another_question(self) -> None:
        def handler(_ctx: Context, task: Task, _events: Events) -> Answer:
            assert task.observation is not None
            return Answer(task.observation["you"] + task.legal_moves[1 if task.refused else 0])

        arena = Arena(self)
        _, endpoint = arena.serve(handler)
        task = {"description": "d", "options": ["1", "2"], "observation": {"you": "x"}}
        for previous, want in ((None, "x1"), ({"error": "column 1 is full"}, "x2"), (None, "x1")):
            self.assertEqual(arena.ask(endpoint, task=task, previous=previous)[1]["answer"], want)

    def test_a_task_too_many(self) -> None:
        for when_full, want in (("unavailable", 503), ("rate_limited", 429)):
            with self.subTest(when_full), ThreadPoolExecutor() as pool:
                arena, entered, release = Arena(self), threading.Event(), threading.Event()

                def handler(_ctx: Context, _task: Task, _events: Events) -> Answer:
                    entered.set()
                    release.wait(WAIT)
                    return Answer("a")

                _, endpoint = arena.serve(handler, max_concurrent=1, when_full=when_full)
                first = pool.submit(arena.ask, endpoint, match_id="m_1")
                entered.wait(WAIT)
                self.assertEqual(arena.ask(endpoint, match_id="m_2")[0], want)
                release.set()
                self.assertEqual(first.result()[0], 200)
                self.assertEqual(arena.ask(endpoint, match_id="m_2", attempt=2)[0], 200)

    def test_the_time_limit_ends_the_context_and_a_handler_that_hears_nothing(self) -> None:
        release, left = threading.Event(), []

        def handler(ctx: Context, task: Task, _events: Events) -> Answer:
            if task.description == "deaf":
                release.wait(WAIT)
            else:
                ctx.wait(WAIT)
                left.append(ctx.remaining())
            return Answer("late")

        async def sleeper(_ctx: Context, _task: Task, _events: Events) -> Answer:
            await asyncio.sleep(WAIT)
            return Answer("late")

        arena = Arena(self)
        _, endpoint = arena.serve(handler)
        _, asleep = arena.serve(sleeper)
        with ThreadPoolExecutor() as pool:
            asks = [pool.submit(arena.ask, endpoint, match_id=d, task={"description": d}, time_limit_seconds=1) for d in ("deaf", "hears")]
            asks.append(pool.submit(arena.ask, asleep, time_limit_seconds=1))
            self.assertEqual([ask.result()[0] for ask in asks], [408, 408, 408])
        release.set()
        self.assertEqual(left, [0.0])

    def test_a_body_too_large_or_without_length(self) -> None:
        arena = Arena(self)
        _, endpoint = arena.serve(canberra)
        self.assertEqual(post(endpoint, b" " * (3 << 20), None)[0], 413)
        self.assertEqual(request("POST", endpoint, None, {"Transfer-Encoding": "chunked"})[0], 411)


class Deliveries(unittest.TestCase):
    def test_repeated_ones_get_one_answer(self) -> None:
        arena, entered, release, calls = Arena(self), threading.Event(), threading.Event(), []

        def handler(_ctx: Context, _task: Task, _events: Events) -> Answer:
            calls.append(1)
            entered.set()
            release.wait(WAIT)
            return Answer(f"answer {len(calls)}")

        _, endpoint = arena.serve(handler, max_concurrent=1)
        with ThreadPoolExecutor() as pool:
            asks = [pool.submit(arena.ask, endpoint)]
            entered.wait(WAIT)
            body, token = arena.make(attempt=2)
            cut = socket.create_connection(("127.0.0.1", int(endpoint.split(":")[2].split("/")[0])))
            cut.sendall(f"POST /agora HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            cut.close()
            asks.append(pool.submit(arena.ask, endpoint, attempt=3))  # no slot is free: only joining can succeed
            release.set()
            self.assertEqual([ask.result()[1]["answer"] for ask in asks], ["answer 1"] * 2)
        self.assertEqual(arena.ask(endpoint, attempt=4)[1]["answer"], "answer 1")
        for n in range(2, 300):  # more than are kept
            self.assertEqual(arena.ask(endpoint, round=n)[1]["answer"], f"answer {n}")

    def test_a_failure_is_tried_again(self) -> None:
        def handler(_ctx: Context, task: Task, _events: Events) -> Answer:
            if task.attempt == 1:
                raise ValueError("no luck")
            return Answer("luck")

        arena = Arena(self)
        _, endpoint = arena.serve(handler)
        self.assertEqual(arena.ask(endpoint)[0], 500)
        self.assertEqual(arena.ask(endpoint, attempt=2)[0], 200)


class Keys(unittest.TestCase):
    def test_a_new_key_is_found_and_asked_for_once(self) -> None:
        arena = Arena(self)
        _, endpoint = arena.serve(canberra, agent_id="ag_test", max_concurrent=9)
        self.assertEqual(arena.ask(endpoint)[0], 200)
        before = arena.key_fetches
        arena.rotate()
        with ThreadPoolExecutor() as pool:
            asks = [pool.submit(arena.ask, endpoint, round=n) for n in range(2, 8)]
            self.assertEqual({ask.result()[0] for ask in asks}, {200})
        self.assertEqual(arena.key_fetches, before + 1)

    def test_without_keys_nobody_is_at_fault(self) -> None:
        arena = Arena(self)
        arena.down = True
        agent, endpoint = arena.serve(canberra)
        self.assertEqual(arena.ask(endpoint)[0], 503)
        arena.down = False
        self.assertEqual(arena.ask(endpoint)[0], 200)
        agent.set_agent_id("ag_later")
        self.assertEqual(arena.ask(endpoint)[0], 401)

    def test_an_agent_without_an_id_takes_no_task(self) -> None:
        """Threat T6."""
        arena = Arena(self)
        agent, endpoint = arena.serve(canberra, any_agent=False)
        self.assertEqual(arena.ask(endpoint)[0], 401)
        agent.set_agent_id("ag_test")
        self.assertEqual(arena.ask(endpoint)[0], 200)


class Reporting(unittest.TestCase):
    def test_one_socket_carries_the_rounds_under_their_tokens(self) -> None:
        kept: List[Events] = []

        def handler(_ctx: Context, task: Task, events: Events) -> Answer:
            kept.append(events)
            events.spawn("Librarian", "looks")
            events.spawn("Librarian", "looks again")
            events.tool_call("search", {"round": task.round})
            return Answer("a")

        arena = Arena(self)
        agent, endpoint = arena.serve(handler, events="websocket")
        _, reply = arena.ask(endpoint)
        self.assertEqual((reply["subagents_used"], reply["tools_used"]), (["Librarian"], ["search"]))
        for n in (2, 3):
            arena.ask(endpoint, round=n)
        self.assertEqual([c["round"] for c, _ in arena.events(9)], [1, 1, 1, 2, 2, 2, 3, 3, 3])
        self.assertEqual((arena.dials, agent.dropped_events), (1, 0))
        kept[0].thinking("too late")
        self.assertEqual(agent.dropped_events, 1)

    def test_an_arena_that_refuses_costs_no_answer(self) -> None:
        for mode in ("websocket", "http"):
            with self.subTest(mode):
                arena = Arena(self)

                def handler(_ctx: Context, _task: Task, events: Events, arena: Arena = arena) -> Answer:
                    arena.down = True
                    events.thinking("to nobody")
                    return Answer("a")

                agent, endpoint = arena.serve(handler, events=mode)
                self.assertEqual(arena.ask(endpoint)[0], 200)
                agent.close()
                self.assertEqual(agent.dropped_events, 1)


class Serving(unittest.TestCase):
    def test_health(self) -> None:
        sick: List[int] = []
        arena = Arena(self)
        agent, endpoint = arena.serve(canberra, capabilities=["trivia", "debate"], max_concurrent=7, health=lambda: [][sick[0]] if sick else None)
        status, _, body = request("GET", endpoint + "/health")
        want = {"status": "ok", "version": "1.0", "capabilities": ["trivia", "debate"], "avg_latency_ms": 0, "max_concurrent": 7}
        self.assertEqual((status, json.loads(body)), (200, want))
        self.assertEqual(request("HEAD", endpoint + "/health")[::2], (200, b""))
        self.assertEqual(request("POST", endpoint + "/health")[1]["Allow"], "GET, HEAD")
        self.assertEqual(request("GET", endpoint)[0], 405)
        self.assertEqual(request("GET", endpoint + "/elsewhere")[0], 404)
        sick.append(1)
        self.assertEqual(request("GET", endpoint + "/health")[0], 503)
        sick.clear()
        agent.close()
        self.assertEqual(request("GET", endpoint + "/health")[0], 503)
        self.assertEqual(arena.ask(endpoint)[0], 503)

    def test_an_async_handler_under_asgi(self) -> None:
        async def handler(ctx: Context, task: Task, events: Events) -> Answer:
            await asyncio.sleep(0)
            events.thinking("async")
            return Answer(f"{task.round} {ctx.done()}")

        arena = Arena(self)
        with Agent(Config(arena=arena.url, any_agent=True), handler) as agent:
            body, token = arena.make()
            app = asgi(agent)
            status, reply = ask_asgi(app, "/agora", body, f"Bearer {token}")
            self.assertEqual((status, reply["answer"]), (200, "1 False"))
            self.assertEqual(ask_asgi(app, "/agora", body, "Bearer x.y.z")[0], 401)
            arena.events(1)

    def test_close_ends_an_async_handler(self) -> None:
        entered = threading.Event()

        async def handler(_ctx: Context, _task: Task, _events: Events) -> Answer:
            entered.set()
            await asyncio.sleep(WAIT)
            return Answer("late")

        arena = Arena(self)
        agent, endpoint = arena.serve(handler)
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(arena.ask, endpoint)
            entered.wait(WAIT)
            agent.close()
            self.assertEqual(asked.result()[0], 503)

    def test_serve_finishes_the_work_when_it_is_told_to_stop(self) -> None:
        entered, release, stop, listens = threading.Event(), threading.Event(), threading.Event(), threading.Event()
        urls: List[str] = []

        class Logger(logging.Logger):
            def info(self, _message: Any, *args: Any, **_: Any) -> None:
                urls.append(str(args[0]))
                listens.set()

        def handler(ctx: Context, _task: Task, _events: Events) -> Answer:
            entered.set()
            release.wait(WAIT)
            return Answer("cut" if ctx.wait(0.3) else "at the last moment")

        arena = Arena(self)
        with ThreadPoolExecutor() as pool:
            ended = pool.submit(serve, Config(arena=arena.url, addr="127.0.0.1:0", any_agent=True, logger=Logger("test")), handler, stop)
            listens.wait(WAIT)
            asked = pool.submit(arena.ask, urls[0])
            entered.wait(WAIT)
            stop.set()
            release.set()
            self.assertEqual(asked.result()[1]["answer"], "at the last moment")
            ended.result()
        with self.assertRaises(ConnectionError):
            post(urls[0], b"{}", None)

    def test_a_wrong_configuration_is_refused(self) -> None:
        wrong = (
            {"arena": ""}, {"arena": "arena.example"}, {"arena": "ftp://arena.example"}, {"path": "agora"}, {"path": "/"},
            {"max_concurrent": 0}, {"when_full": "asleep"}, {"events": "pigeon"},
        )
        for change in wrong:
            with self.subTest(str(change)), self.assertRaises(ValueError):
                Agent(Config(**{"arena": "http://127.0.0.1:1", **change}), canberra)  # type: ignore[arg-type]
