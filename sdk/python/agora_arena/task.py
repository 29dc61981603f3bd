"""Tasks and answers, and their form on the wire."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

from .text import clip

if TYPE_CHECKING:
    from .tokens import Claims

MAX_TIME_LIMIT = 24 * 3600.0  # seconds that are believed

# Seconds between the iat of a token and the second in which the arena made it. The arena backdates iat for agents whose
# clock is behind (docs/agent-protocol.md, "The token").
BACKDATING = 5.0

# The arena reads no reply over 64 KiB; what is too long for it is cut.
MAX_ANSWER = 24 << 10
MAX_REASONING = 4 << 10
MAX_NAMES = 64
MAX_NAME = 64


@dataclass(frozen=True)
class Receipt:
    """The arena's word that it had an answer. The token of the task covers it: who keeps token and body can show it
    to others."""

    sha256: str
    """Of the answer as the match's record shows it, hexadecimal."""
    arrived_at: Optional[datetime]
    """By the arena's clock; None: not named."""


@dataclass(frozen=True)
class Previous:
    """How the agent's last round in the match went."""

    outcome: str
    """ "answered", "timeout", … """
    correct: str
    """The accepted answer; "" when it is absent."""
    points: float
    """0..1"""
    measured: float
    """Seconds, by the arena's clock."""
    receipt: Optional[Receipt] = None
    """For the answer; None without one."""
    error: str = ""
    """Why the move was refused that the agent gave for this very task, e.g. "column 3 is full"; "": it was not."""


@dataclass
class Task:
    """One question of a match, or one turn of a game (AAP, "Request format"). observation, task_id, attempt, deadline
    and previous are the arena's additions."""

    version: str
    league: str
    """Slug."""
    match_id: str
    round: int
    """1 is the first."""
    total_rounds: int
    """0: open end."""
    description: str
    input_format: str
    output_format: str
    options: Optional[List[str]]
    """None: an open question. In a game the legal moves."""
    time_limit: float
    """Seconds."""
    max_tokens: int
    """0: no limit was named."""
    rules: List[str]
    opponents: int
    """Other active seats."""
    task_id: str
    """ "" when not named."""
    attempt: int
    """1, or more when the arena asks again."""
    deadline: Optional[datetime]
    """By the arena's clock, with the time bank of a game; None: not named."""
    previous: Optional[Previous]
    """None in the first round."""
    claims: Optional["Claims"] = None
    """Of the token that came with the task; None when tokens are skipped."""
    observation: Optional[Dict[str, Any]] = None
    """What the agent knows of a game (docs/games.md has the members for each); None: no game."""

    @property
    def legal_moves(self) -> List[str]:
        """The legal moves of a turn of a game: the answer is one of them. Empty for a question, and if the league does
        not list them."""
        return [] if self.observation is None else list(self.options or ())

    @property
    def refused(self) -> str:
        """Why the arena refused the last move, e.g. "column 3 is full", if the task asks for another one."""
        return self.previous.error if self.previous else ""

    def key(self) -> Tuple[str, str, int, str, str]:
        """Names the question, whatever the attempt. A task that asks for another move because the last one was refused
        is another question."""
        agent = self.claims.agent_id if self.claims else ""
        return agent, self.match_id, self.round, self.task_id or self.description, self.refused

    def times(self, clock: float) -> Tuple[float, float]:
        """How long a handler may work and how long its reply is waited for, in seconds from the arrival of the task.
        The arena's own clock determines how much of the limit is left, from the time at which the token was made; a part is kept
        back for the way of the reply. In a game the deadline may lie beyond the limit: it includes the time bank of the
        agent. The token of a match is older than the task: then the agent's own clock counts, which was at clock when the task
        arrived."""
        left = self.time_limit
        if self.deadline is not None and self.claims is not None:
            start = clock if self.claims.of_match else self.claims.issued_at + BACKDATING
            until_deadline = self.deadline.timestamp() - start
            if 0 < until_deadline and (until_deadline < left or self.observation is not None):
                left = min(until_deadline, MAX_TIME_LIMIT)
        kept = min(0.2, left / 10)
        return left - kept, left - kept / 2


@dataclass
class Answer:
    """What an agent replies (AAP, "Response format"). Only value is needed; the rest is shown to the spectators."""

    value: str
    confidence: Optional[float] = None
    """0..1; None: not declared."""
    reasoning: str = ""
    subagents: Optional[Sequence[str]] = None
    """None: the names given to Events.spawn."""
    tools: Optional[Sequence[str]] = None
    """None: the names given to Events.tool_call."""
    tokens: Optional[int] = None
    """None or 0: not declared."""


class _Members:
    """The members of a JSON object, each with a check of its kind; null is as good as missing."""

    def __init__(self, value: Any, name: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{name} is not an object")
        self.value: Dict[str, Any] = value

    def get(self, name: str, kinds: Tuple[type, ...], otherwise: Any) -> Any:
        v = self.value.get(name)
        if v is None:
            return otherwise
        if not isinstance(v, kinds) or isinstance(v, bool):
            raise ValueError(f"{name} is of the wrong kind")
        return v

    def text(self, name: str) -> str:
        return str(self.get(name, (str,), ""))

    def whole(self, name: str) -> int:
        return int(self.get(name, (int,), 0))

    def number(self, name: str) -> float:
        return float(self.get(name, (int, float), 0.0))

    def texts(self, name: str) -> Optional[List[str]]:
        v: Optional[List[str]] = self.get(name, (list,), None)
        if v is not None and not all(isinstance(item, str) for item in v):
            raise ValueError(f"{name} is not a list of texts")
        return v

    def time(self, name: str) -> Optional[datetime]:
        v = self.text(name)
        if not v:
            return None
        at = datetime.fromisoformat(v.replace("Z", "+00:00"))
        if at.tzinfo is None:
            raise ValueError(f"{name} has no time zone")
        return at


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def decode_task(body: bytes) -> Task:
    """Reads the body of a task POST; ValueError when it is not a task."""
    try:
        w = _Members(json.loads(body.decode("utf-8", "replace"), parse_constant=_refuse_constant), "the body")
        task = _Members(w.get("task", (dict,), {}), "task")
        last = w.get("previous", (dict,), None)
        previous = None
        if last is not None:
            p = _Members(last, "previous")
            correct = p.value.get("correct")
            given = p.get("receipt", (dict,), None)
            receipt = None
            if given is not None:
                r = _Members(given, "receipt")
                receipt = Receipt(r.text("sha256"), r.time("arrived_at"))
            previous = Previous(
                p.text("outcome"), correct if isinstance(correct, str) else "", p.number("points"), p.number("measured_ms") / 1000, receipt,
                p.text("error"))
        t = Task(
            version=w.text("version"), league=w.text("league"), match_id=w.text("match_id"), round=w.whole("round"),
            total_rounds=w.whole("total_rounds"), description=task.text("description"), input_format=task.text("input_format"),
            output_format=task.text("output_format"), options=task.texts("options"), time_limit=w.number("time_limit_seconds"),
            max_tokens=w.whole("max_tokens"), rules=w.texts("rules") or [], opponents=w.whole("opponent_count"),
            task_id=w.text("task_id"), attempt=max(w.whole("attempt"), 1), deadline=w.time("deadline"), previous=previous,
            observation=task.get("observation", (dict,), None))
    except (OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not t.match_id or not t.description:
        raise ValueError("match_id and task.description are needed")
    if not 0 < t.time_limit <= MAX_TIME_LIMIT:
        raise ValueError("time_limit_seconds is not a time")
    return t


def encode_answer(a: Answer, took: float) -> bytes:
    """Makes the body of a reply."""
    if not isinstance(a, Answer) or not isinstance(a.value, str):
        raise TypeError("the handler gave no Answer with a text")

    def names(all_names: Optional[Sequence[str]]) -> List[str]:
        return [clip(name, MAX_NAME) for name in list(all_names or ())[:MAX_NAMES]]

    wire: Dict[str, Any] = {"answer": clip(a.value, MAX_ANSWER)}
    if a.confidence is not None and math.isfinite(a.confidence) and a.confidence > 0:
        wire["confidence"] = min(float(a.confidence), 1.0)
    if a.reasoning:
        wire["reasoning"] = clip(a.reasoning, MAX_REASONING)
    wire["subagents_used"] = names(a.subagents)
    wire["tools_used"] = names(a.tools)
    if a.tokens is not None and a.tokens > 0:
        wire["tokens"] = int(a.tokens)
    wire["latency_ms"] = round(took * 1000)
    return json.dumps(wire, ensure_ascii=False, allow_nan=False).encode()
