"""The seam where code of yours is awaited: however that ends, it ends no more than the one call.

Source: PROTOCOL §1 (three answers), §7 (our own cancellation).
"""

import asyncio
from collections.abc import Awaitable, Callable

import anyio


class StrayError(Exception):
    """An adapter ended in what is no error of its own: another task's cancellation, or a group."""


async def heard[*Args, T](
    work: Callable[[*Args], Awaitable[T]], *args: *Args, timeout_s: float
) -> T:
    """Await what a tool does.

    Raises: Exception: whatever it raised. TimeoutError: it took too long.
            StrayError: in place of any other; our own cancellation and the process's end pass.
    """
    try:
        with anyio.fail_after(timeout_s):
            return await work(*args)
    except (Exception, GeneratorExit, KeyboardInterrupt, SystemExit):
        raise
    except asyncio.CancelledError as fault:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # Two calls share work, as a token refresh, and the other one's time-out cancelled it.
        raise StrayError(type(fault).__name__) from fault
    except BaseException as fault:
        raise StrayError(type(fault).__name__) from fault
