from __future__ import annotations

import json
import unittest
from typing import Any, List

from agora_arena import Answer, Context, Events, Task
from tests.pocket import Arena, Members, post, vectors


def flat(k: Task) -> Members:
    p = k.previous
    return {
        "version": k.version, "league": k.league, "match_id": k.match_id, "round": k.round, "total_rounds": k.total_rounds,
        "description": k.description, "input_format": k.input_format, "output_format": k.output_format, "options": k.options, "observation": k.observation,
        "time_limit_seconds": k.time_limit, "max_tokens": k.max_tokens, "rules": k.rules, "opponents": k.opponents, "task_id": k.task_id,
        "attempt": k.attempt, "deadline_ms": round(k.deadline.timestamp() * 1000) if k.deadline else None,
        "previous": p and {"outcome": p.outcome, "correct": p.correct, "points": p.points, "measured_ms": round(p.measured * 1000),
                           "receipt": p.receipt and {"sha256": p.receipt.sha256, "arrived_at_ms": p.receipt.arrived_at and round(p.receipt.arrived_at.timestamp() * 1000)},
                           "error": p.error},
    }


def report(events: Events, method: str, args: List[Any]) -> None:
    if method in ("subagent_done", "tool_response"):
        args = [args[0], args[1] / 1000]
    getattr(events, method)(*args)


class Vectors(unittest.TestCase):
    maxDiff = 2000

    def test_tokens(self) -> None:
        """Threats E7 and F2, on the agent's side."""
        v = vectors("tokens.json")
        arena = Arena(self, v["jwks"])
        _, endpoint = arena.serve(
            lambda ctx, task, events: Answer("a"), issuer=v["issuer"], agent_id=v["agent_id"], leeway=v["leeway_seconds"], now=lambda: v["now"], events="off")
        for c in v["cases"]:
            with self.subTest(c["name"]):
                status, _ = post(endpoint, c.get("body", v["body"]).encode(), c["authorization"])
                self.assertEqual(status, c["status"])

    def test_rotation(self) -> None:
        v = vectors("tokens.json")
        steps, floods = v["rotation"]["steps"], v["rotation"]["floods"]
        arena = Arena(self, steps[0]["jwks"])
        _, endpoint = arena.serve(lambda ctx, task, events: Answer("a"), issuer=v["issuer"], now=lambda: v["now"], events="off")
        for c in steps:
            arena.jwks = c["jwks"]
            status, _ = post(endpoint, v["body"].encode(), c["authorization"])
            self.assertEqual(status, c["status"], c["name"])
        for c in floods:
            before = arena.key_fetches
            for _ in range(c["times"]):
                status, _ = post(endpoint, v["body"].encode(), c["authorization"])
                self.assertEqual(status, 401, c["name"])
            self.assertLessEqual(arena.key_fetches - before, c["looks_at_most"], c["name"])

    def test_tasks(self) -> None:
        arena = Arena(self)
        for c in vectors("tasks.json")["cases"]:
            got: List[Task] = []

            def handler(_ctx: Context, task: Task, _events: Events, got: List[Task] = got) -> Answer:
                got.append(task)
                return Answer("a")

            with self.subTest(c["name"]):
                _, endpoint = arena.serve(handler, insecure_skip_tokens=True)
                status, _ = post(endpoint, c["body"].encode(), None)
                self.assertEqual(status, c["status"])
                self.assertEqual([flat(t) for t in got], [c["task"]] if "task" in c else [])

    def test_answers(self) -> None:
        arena = Arena(self)
        for c in vectors("replies.json")["answers"]:
            with self.subTest(c["name"]):
                _, endpoint = arena.serve(lambda ctx, task, events, c=c: Answer(**c["answer"]))
                _, reply = arena.ask(endpoint)
                self.assertIsInstance(reply.pop("latency_ms"), int)
                self.assertEqual(reply, c["reply"])

    def test_events(self) -> None:
        cases = vectors("events.json")["cases"]
        want = [c["message"] for c in cases if c["message"] is not None]

        def handler(_ctx: Context, _task: Task, events: Events) -> Answer:
            for c in cases:
                report(events, c["method"], c["args"])
            return Answer("a")

        for mode in ("websocket", "http"):
            with self.subTest(mode):
                arena = Arena(self)
                agent, endpoint = arena.serve(handler, events=mode)
                arena.ask(endpoint)
                self.assertEqual([json.dumps(m, sort_keys=True) for _, m in arena.events(len(want))], [json.dumps(m, sort_keys=True) for m in want])
                self.assertEqual(agent.dropped_events, len(cases) - len(want))
