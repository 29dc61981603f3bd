from __future__ import annotations

import unittest
from datetime import datetime, timezone
from typing import Any, Dict, Optional

from agora_arena.task import Task, decode_task
from agora_arena.tokens import Claims

MADE = 1_795_000_000.0  # when the arena made the token


def task(
    limit: float, left: Optional[float], issued_at: float = MADE - 5, body_hash: str = "hash", observation: Optional[Dict[str, Any]] = None
) -> Task:
    t = decode_task(b'{"match_id": "m_1", "task": {"description": "d"}, "time_limit_seconds": 1}')
    t.time_limit, t.observation = limit, observation
    t.deadline = None if left is None else datetime.fromtimestamp(MADE + left, timezone.utc)
    t.claims = Claims("jt_1", "ag_1", "m_1", 1, body_hash, issued_at, MADE + 60)
    return t


class Times(unittest.TestCase):
    def test_the_time_left_counts_from_the_making_of_the_token(self) -> None:
        for name, limit, left, work, wait in (
            ("no deadline", 20, None, 19.8, 19.9),
            ("more than the limit", 20, 60, 19.8, 19.9),
            ("the whole limit", 20, 20, 19.8, 19.9),
            ("a second attempt", 20, 3, 2.8, 2.9),
            ("a short round", 1, 1, 0.9, 0.95),
        ):
            with self.subTest(name):
                self.assertEqual(task(limit, left).times(0), (work, wait))

    def test_a_game_has_its_time_bank(self) -> None:
        self.assertEqual(task(20, 60, observation={}).times(0), (59.8, 59.9))

    def test_the_token_of_a_match_leaves_the_time_to_the_clock_of_the_agent(self) -> None:
        self.assertEqual(task(20, 60, MADE - 300, "", {}).times(MADE + 10), (49.8, 49.9))
