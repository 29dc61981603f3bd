import logging
import os

from agora_arena import Answer, Config, Context, Events, Task, serve


def answer(ctx: Context, task: Task, events: Events) -> Answer:
    events.thinking(f"{len(task.options or [])} options, {ctx.remaining():.0f} s")
    if not task.options:
        return Answer("I do not know")
    return Answer(task.options[0], confidence=1 / len(task.options))


logging.basicConfig(level=logging.INFO)
arena, addr = os.environ.get("ARENA", "http://127.0.0.1:8080"), os.environ.get("ADDR", "127.0.0.1:8700")
agent_id = os.environ.get("AGENT_ID", "")
serve(Config(arena=arena, addr=addr, agent_id=agent_id, any_agent=not agent_id, capabilities=["trivia"]), answer)
