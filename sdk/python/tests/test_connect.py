from __future__ import annotations

import json
import logging
import threading
import unittest
from typing import Any, List, Optional

from agora_arena import Answer, Config, Context, Events, RateLimited, Refused, Task, TaskTimeout, Unavailable, connect
from agora_arena.connect import raw_members
from tests.pocket import Arena, request

WAIT = 30  # seconds after which a test that waits in vain ends


def answer_a(_ctx: Context, _task: Task, _events: Events) -> Answer:
    return Answer("a")


class Joined:
    """An agent that is connected until the test ends, or stop is called."""

    def __init__(self, case: unittest.TestCase, arena: Arena, handler: Any, **options: Any) -> None:
        self._case, self._stop = case, threading.Event()
        self.log: List[str] = []
        self.error: Optional[BaseException] = None
        lines, logger = self.log, logging.Logger("test")

        class Kept(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                lines.append(record.getMessage())

        logger.addHandler(Kept())
        config = Config(logger=logger, **options.pop("config", {}))

        def run() -> None:
            try:
                connect(arena.url + "/", "ak_test", handler, config=config, stop=self._stop, **options)
            except Exception as error:  # noqa: BLE001 - the test looks at it
                self.error = error

        self._thread = threading.Thread(target=run)
        self._thread.start()
        case.addCleanup(self.stop)

    def stop(self) -> None:
        """Stops the agent and waits for its end."""
        self._stop.set()
        self.ended()

    def told(self) -> None:
        """Stops the agent."""
        self._stop.set()

    def ended(self) -> None:
        """Waits for its end."""
        self._thread.join(WAIT)
        self._case.assertFalse(self._thread.is_alive(), "connect is still running")


class Connecting(unittest.TestCase):
    def test_tasks_are_fetched_and_answered(self) -> None:
        def handler(_ctx: Context, task: Task, events: Events) -> Answer:
            events.thinking(f"attempt {task.attempt}")
            return Answer(f"{task.description} {task.claims.agent_id if task.claims else ''}")

        arena = Arena(self)
        joined = Joined(self, arena, handler)
        arena.offer(task={"description": 'Où ? "\\{'})
        arena.until(lambda: len(arena.answers) == 1)
        self.assertEqual(arena.answers[0][0], "tk_test")
        self.assertEqual(json.loads(arena.answers[0][1])["answer"], 'Où ? "\\{ ag_test')
        self.assertEqual(arena.events(1)[0][1]["type"], "thinking")
        joined.stop()
        arena.until(lambda: arena.polls == 0)
        self.assertIsNone(joined.error)

    def test_a_task_delivered_again_gets_the_same_bytes(self) -> None:
        calls: List[int] = []

        def handler(_ctx: Context, _task: Task, _events: Events) -> Answer:
            calls.append(1)
            return Answer(f"answer {len(calls)}")

        arena = Arena(self)
        Joined(self, arena, handler)
        for attempt in (1, 2):
            arena.offer(attempt=attempt)
            arena.until(lambda: len(arena.answers) == attempt)
        self.assertEqual(arena.answers[0], arena.answers[1])
        self.assertEqual(len(calls), 1)

    def test_what_a_handler_raises_is_posted_as_its_status(self) -> None:
        errors = [TaskTimeout(), RateLimited(), ValueError("secret"), Unavailable()]

        def handler(_ctx: Context, task: Task, _events: Events) -> Answer:
            raise errors[task.round - 1]

        arena = Arena(self)
        Joined(self, arena, handler)
        for n in (1, 2, 3, 4):
            arena.offer(round=n)
            arena.until(lambda: len(arena.answers) == n)
        self.assertEqual([json.loads(body) for _, body in arena.answers], [{"status": status} for status in (408, 429, 500, 503)])

    def test_a_task_changed_on_its_way_is_not_worked_on(self) -> None:
        """Threat T6."""
        calls: List[int] = []
        arena = Arena(self)
        joined = Joined(self, arena, lambda *_: calls.append(1), config={"agent_id": "ag_test"})
        body, token = arena.make()
        task = json.loads(body.replace(b"Australia", b"Austria"))
        arena.give(200, json.dumps({"task_id": "tk_1", "token": token, "task": task}).encode())
        arena.until(lambda: len(arena.answers) == 1)
        self.assertEqual((arena.answers[0][1], calls), (b'{"status": 500}', []))
        self.assertTrue(any("another body" in line for line in joined.log), joined.log)

    def test_as_many_tasks_are_worked_on_at_once_as_the_agent_registered(self) -> None:
        both = threading.Barrier(2)

        def handler(_ctx: Context, _task: Task, _events: Events) -> Answer:
            both.wait(WAIT)
            return Answer("a")

        arena = Arena(self)
        arena.registered = 2
        Joined(self, arena, handler, max_concurrent=3)
        arena.until(lambda: arena.polls == 2)
        arena.offer(match_id="m_1", task_id="tk_1")
        arena.offer(match_id="m_2", task_id="tk_2")
        arena.until(lambda: len(arena.answers) == 2)
        self.assertEqual({json.loads(body).get("answer") for _, body in arena.answers}, {"a"})

    def test_a_handler_that_ignores_its_time_limit_gets_no_task_beside_it(self) -> None:
        release = threading.Event()

        def handler(_ctx: Context, task: Task, _events: Events) -> Answer:
            if task.round == 1:
                release.wait(WAIT)
            return Answer(f"round {task.round}")

        arena = Arena(self)
        Joined(self, arena, handler)
        arena.offer(time_limit_seconds=0.2)
        arena.until(lambda: len(arena.answers) == 1)
        arena.offer(round=2)
        for _ in range(5):  # a poll would arrive meanwhile
            request("GET", arena.url + "/v1/me")
        self.assertEqual(len(arena.deliveries), 1)
        release.set()
        arena.until(lambda: len(arena.answers) == 2)
        self.assertEqual(json.loads(arena.answers[0][1]), {"status": 408})
        self.assertEqual(json.loads(arena.answers[1][1])["answer"], "round 2")

    def test_failed_requests_are_repeated(self) -> None:
        arena = Arena(self)
        arena.give(503, b"down")
        arena.give(429, b'{"code":"rate_limited","detail":"too many polls"}', 1)
        arena.give(200, b'{"task": nonsense')
        arena.give(200, b'{"task": {}}')
        arena.give(204)
        arena.refusals.append((500, b"", 0))
        arena.offer()
        joined = Joined(self, arena, answer_a)
        arena.until(lambda: len(arena.answers) == 1)
        self.assertTrue(any("in 1.0 s: the arena answers 429 rate_limited too many polls" in line for line in joined.log), joined.log)

    def test_an_answer_that_comes_too_late_ends_the_task_and_nothing_else(self) -> None:
        arena = Arena(self)
        arena.refusals.append((409, b'{"code":"answer_late","detail":"the deadline has passed"}', 0))
        arena.offer()
        arena.offer(round=2, task_id="tk_2")
        joined = Joined(self, arena, answer_a)
        arena.until(lambda: len(arena.answers) == 1)
        self.assertEqual(arena.answers[0][0], "tk_2")
        self.assertIn("answer not accepted: the arena answers 409 answer_late the deadline has passed", joined.log)

    def test_a_key_that_is_rejected_ends_connect(self) -> None:
        arena = Arena(self)
        with self.assertRaisesRegex(Refused, "rejects this agent key: 401 unauthorized the key is not known"):
            connect(arena.url, "ak_other", answer_a, stop=threading.Event())
        with self.assertRaisesRegex(ValueError, "agent_key is empty"):
            connect(arena.url, "", answer_a)
        arena.registered = 3
        joined = Joined(self, arena, answer_a)
        arena.until(lambda: arena.polls == 3)
        arena.give(409, b'{"code":"agent_has_endpoint"}')
        joined.ended()
        self.assertIn("409 agent_has_endpoint", str(joined.error))

    def test_stopping_finishes_the_task_in_progress(self) -> None:
        entered, release = threading.Event(), threading.Event()

        def handler(ctx: Context, _task: Task, _events: Events) -> Answer:
            entered.set()
            release.wait(WAIT)
            return Answer("cut" if ctx.done() else "finished")

        arena = Arena(self)
        arena.registered = 2
        joined = Joined(self, arena, handler)
        arena.offer()
        entered.wait(WAIT)
        joined.told()
        arena.until(lambda: arena.polls == 0)
        release.set()
        joined.ended()
        self.assertEqual([json.loads(body)["answer"] for _, body in arena.answers], ["finished"])

    def test_the_members_of_an_object_as_they_were_written(self) -> None:
        for text, want in {
            '{"task":{"a":[1,{"task":2}],"b":"}\\"{"},"x":1}': '{"a":[1,{"task":2}],"b":"}\\"{"}',
            '{ "a" : {"task": 1}, "t\\u0061sk" :  1.50e1 }': "1.50e1",
            '{"task":1,"task":[ "é" ]}': '[ "é" ]',
            " {} ": None,
        }.items():
            self.assertEqual(raw_members(text).get("task"), want)
        for text in ("", "[]", "{", '{"a"}', '{"a":1', '{"a":1 "b":2}', '{"a":}'):
            with self.assertRaises(ValueError, msg=text):
                raw_members(text)
