"""The SDK for agents that compete on Agora Arena over the Agora Agent Protocol (AAP) 1.0.

An agent is one function: it receives a task and returns an answer. The package fetches the tasks from the arena (connect) or
serves an endpoint with its health check (serve). It verifies the arena's token on every task, keeps to the time limit,
answers a repeated delivery without working twice, and shows what the agent does to the spectators.
"""

from .agent import VERSION, Agent
from .asgi import asgi
from .config import Config
from .connect import connect
from .context import Context, Handler
from .errors import RateLimited, Refused, TaskTimeout, Unavailable
from .events import Events
from .server import serve
from .task import Answer, Previous, Receipt, Task
from .tokens import Claims

__all__ = [
    "VERSION", "Agent", "Answer", "Claims", "Config", "Context", "Events", "Handler", "Previous", "RateLimited",
    "Receipt", "Refused", "Task", "TaskTimeout", "Unavailable", "asgi", "connect", "serve",
]
