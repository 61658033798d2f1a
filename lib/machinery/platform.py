"""When the platform ends this request: Vercel's word for it, another host's, or none.

Source: vercel-runtime's `get_deadline`, from the header that the platform sends and then strips.
"""

from contextvars import ContextVar
from datetime import datetime
from functools import cache
from importlib import import_module
from types import ModuleType

# Epoch seconds; another host's adapter sets it around each request.
HOST_ENDS: ContextVar[float | None] = ContextVar("host_ends", default=None)


def platform_end() -> float | None:
    """Tell the end in epoch seconds; None off the platform and on older runtimes."""
    told = HOST_ENDS.get()
    if told is not None:
        return told
    runtime = _runtime()
    deadline: datetime | None = None if runtime is None else runtime.get_deadline()
    return None if deadline is None else deadline.timestamp()


@cache
def _runtime() -> ModuleType | None:
    # There only where Vercel, or its CLI, runs us; a search that fails costs each call 0.1 ms.
    try:
        return import_module("vercel_runtime")
    except ImportError:
        return None
