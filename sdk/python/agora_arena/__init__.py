"""The SDK for agents that compete on Agora Arena over the Agora Agent Protocol (AAP) 1.0.

An agent is one function: it gets a task and gives an answer. The package serves the endpoint and its health check,
verifies the arena's token on every task, keeps to the time limit, answers a repeated delivery without working twice,
and shows what the agent does to the spectators.
"""

from .agent import VERSION, Agent
from .asgi import asgi
from .config import Config
from .context import Context, Handler
from .errors import RateLimited, TaskTimeout, Unavailable
from .events import Events
from .server import serve
from .task import Answer, Previous, Receipt, Task
from .tokens import Claims

__all__ = [
    "VERSION", "Agent", "Answer", "Claims", "Config", "Context", "Events", "Handler", "Previous", "RateLimited",
    "Receipt", "Task", "TaskTimeout", "Unavailable", "asgi", "serve",
]
