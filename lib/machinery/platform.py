"""When the platform ends this request: Vercel's word for it, another host's, or none.

Source: vercel-runtime's `get_deadline`, from the header that the platform sends and then strips.
"""

from contextvars import ContextVar
from datetime import datetime
from importlib import import_module

# Epoch seconds; another host's adapter sets it around each request.
HOST_ENDS: ContextVar[float | None] = ContextVar("host_ends", default=None)


def platform_end() -> float | None:
    """Tell the end in epoch seconds; None off the platform and on older runtimes."""
    told = HOST_ENDS.get()
    if told is not None:
        return told
    try:
        runtime = import_module("vercel_runtime")  # there only where Vercel, or its CLI, runs us
    except ImportError:
        return None
    deadline: datetime | None = runtime.get_deadline()
    return None if deadline is None else deadline.timestamp()
