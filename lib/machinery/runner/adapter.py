"""The seam where code of yours is awaited: however that ends, it ends no more than the one call.

Source: PROTOCOL §1 (three answers), §6 (how long a wait may be), §7 (our own cancellation).
"""

import asyncio
import math
from collections.abc import Awaitable, Callable

from lib.contract import BackendError
from lib.machinery.outcome import Fault

MAX_CHARS = 2_000  # of a code or a sentence
MAX_WAIT_MS = 3_600_000


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
        async with asyncio.timeout(timeout_s):  # costs less than half of what anyio's does
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


def said(error: BackendError) -> tuple[Fault, int | None]:
    """Give an error's code, sentence and wait as what they are declared to be, whatever they are.

    A record that holds anything else could not be stored, or not be read again.
    """
    code, message = shown(error, "code"), shown(error, "message")
    fault = Fault(_text(code, missing="unnamed"), _text(message, missing=""))
    return fault, _wait_ms(shown(error, "after_ms"))


def shown(error: BackendError, name: str) -> object:
    """Look at what an error should have; None where it has it not, or stumbles over it."""
    try:
        return getattr(error, name, None)
    except Exception:  # noqa: BLE001  a property of a tool's own
        return None


def _text(value: object, *, missing: str) -> str:
    if value is None:
        return missing
    try:
        text = value if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001  a tool's own __str__
        text = type(value).__name__
    return text[:MAX_CHARS].encode("utf-8", "replace").decode()


def _wait_ms(value: object) -> int | None:
    if not isinstance(value, int | float):
        return None
    clamped = min(max(value, 0), MAX_WAIT_MS)
    return None if math.isnan(clamped) else math.ceil(clamped)
