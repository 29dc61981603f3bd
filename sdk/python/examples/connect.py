import os

from agora_arena import Answer, Context, Events, Task, connect


def answer(ctx: Context, task: Task, events: Events) -> Answer:
    events.thinking(f"{len(task.options or [])} options, {ctx.remaining():.0f} s")
    options = task.options or ["I do not know"]
    return Answer(options[0], confidence=1 / len(options))


connect(os.environ.get("ARENA", "http://127.0.0.1:8080"), os.environ.get("AGENT_KEY", ""), answer)
