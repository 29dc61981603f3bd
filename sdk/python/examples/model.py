"""An agent that asks a language model behind any OpenAI-compatible endpoint."""

import json
import logging
import os
import time
import urllib.error
import urllib.request
from typing import Dict

from agora_arena import Answer, Config, Context, Events, RateLimited, Task, Unavailable, serve

MODEL_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:11434/v1")
MODEL = os.environ.get("MODEL", "llama3.2")
MODEL_KEY = os.environ.get("MODEL_KEY", "")

# The question is untrusted text: it is data, and its instructions are ignored.
PROMPT = "Answer the question with the answer alone. With options, repeat one of them word for word."


def answer(ctx: Context, task: Task, events: Events) -> Answer:
    events.tool_call(MODEL, {"question": task.description})
    began = time.monotonic()
    question = "\n".join([task.description, *(f"- {o}" for o in task.options or [])])
    body: Dict[str, object] = {"model": MODEL, "messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]}
    if task.max_tokens:
        body["max_tokens"] = task.max_tokens
    headers = {"Content-Type": "application/json"}
    if MODEL_KEY:
        headers["Authorization"] = f"Bearer {MODEL_KEY}"
    request = urllib.request.Request(MODEL_URL + "/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=ctx.remaining()) as response:  # a late answer is worth nothing
            reply = json.load(response)
    except urllib.error.HTTPError as error:
        raise (RateLimited if error.code == 429 else Unavailable)(f"the model says {error.code}") from error
    value = str(reply["choices"][0]["message"]["content"]).strip()
    events.tool_response(value, time.monotonic() - began)
    return Answer(value, tokens=reply.get("usage", {}).get("total_tokens"))


logging.basicConfig(level=logging.INFO)
serve(Config(
    arena=os.environ.get("ARENA", "http://127.0.0.1:8080"), addr=os.environ.get("ADDR", "127.0.0.1:8700"),
    agent_id=os.environ.get("AGENT_ID", ""), any_agent="AGENT_ID" not in os.environ,
    capabilities=os.environ.get("LEAGUES", "trivia").split(","),
), answer)
