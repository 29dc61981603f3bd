"""What an agent reports of its work."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional

from .context import Context
from .task import MAX_NAMES, Answer
from .text import clip

# The arena takes events of at most 16 KiB; texts are cut well below it.
MAX_EVENT = 16 << 10
MAX_TEXT = 4 << 10


class Events:
    """Reports what an agent does on one task to the spectators (AAP, "Streaming events"). Its methods never wait and
    never raise, and may be called from many threads; Events() drops everything."""

    def __init__(self, ctx: Optional[Context] = None, send: Optional[Callable[[bytes], None]] = None, drop: Optional[Callable[[], None]] = None) -> None:
        self._ctx, self._send, self._drop = ctx, send, drop
        self._shut = False
        self._lock = threading.Lock()
        self._agents: List[str] = []
        self._tools: List[str] = []

    def thinking(self, message: str) -> None:
        """Shows a thought."""
        self._report({"type": "thinking", "message": clip(message, MAX_TEXT)})

    def spawn(self, name: str, role: str) -> None:
        """Shows the start of a sub-agent."""
        self._note(self._agents, name)
        self._report({"type": "spawn_subagent", "name": clip(name, MAX_TEXT), "role": clip(role, MAX_TEXT)})

    def subagent_done(self, name: str, took: float) -> None:
        """Shows the end of a sub-agent; took is in seconds."""
        self._report({"type": "subagent_done", "name": clip(name, MAX_TEXT), "duration_ms": round(took * 1000)})

    def tool_call(self, tool: str, args: Any) -> None:
        """Shows the use of a tool. args is encoded as JSON at once."""
        self._note(self._tools, tool)
        self._report({"type": "tool_call", "tool": clip(tool, MAX_TEXT), "args": args})

    def tool_response(self, result: Any, took: float) -> None:
        """Shows what the last tool gave. result is encoded as JSON at once; took is in seconds."""
        if isinstance(result, str):
            result = clip(result, MAX_TEXT)
        self._report({"type": "tool_response", "result": result, "duration_ms": round(took * 1000)})

    def intermediate(self, data: Any) -> None:
        """Shows a result on the way. data is encoded as JSON at once; it should be an object."""
        self._report({"type": "intermediate_result", "data": data})

    def answer(self, value: str, final: bool) -> None:
        """Shows an answer; final reports whether it is the last one. What counts is what the handler returns."""
        self._report({"type": "answer", "final": final, "value": clip(value, MAX_TEXT)})

    def error(self, message: str, fatal: bool) -> None:
        """Shows a failure; fatal reports whether the agent abandons the task."""
        self._report({"type": "error", "message": clip(message, MAX_TEXT), "fatal": fatal})

    def _report(self, event: Dict[str, Any]) -> None:
        if self._send is None or self._drop is None:
            return
        try:
            data = json.dumps(event, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError):
            data = b""
        # Events reported after the time limit would fall into the next round.
        if not data or len(data) > MAX_EVENT or self._shut or (self._ctx is not None and self._ctx.done()):
            self._drop()
        else:
            self._send(data)

    def _note(self, names: List[str], name: str) -> None:
        """Keeps a name for the answer's lists."""
        with self._lock:
            if len(names) < MAX_NAMES and name not in names:
                names.append(name)

    def _fill(self, a: Answer) -> Answer:
        """Puts the names that were noted into an answer that came without its own."""
        with self._lock:
            return replace(
                a, subagents=list(self._agents) if a.subagents is None else a.subagents,
                tools=list(self._tools) if a.tools is None else a.tools)
