"""A signal that asks a program to stop, as one exception on the main thread, raised once."""

import asyncio
import signal
from collections.abc import Coroutine
from types import FrameType

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop(KeyboardInterrupt):
    """A person, or whoever supervises us, asks us to stop; of a kind that event loops let by."""


def stop_on_signals() -> None:
    """Raise Stop at the first signal, wherever the main thread is, and ignore what follows."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        _ignore()
        raise Stop

    for each in _heeded():
        signal.signal(each, stop)


def run[T](work: Coroutine[None, None, T]) -> T:
    """Run work on a loop of its own, as `asyncio.run` does; a signal cancels it, and ends in Stop.

    Stop raised between two lines of somebody's task would be told as that task's failure.
    """
    is_stopped = False

    async def cancelled_by_signals() -> T:
        task = asyncio.create_task(work)

        def cancel() -> None:
            nonlocal is_stopped
            if not is_stopped:
                is_stopped = task.cancel()

        for each in _heeded():
            asyncio.get_running_loop().add_signal_handler(each, cancel)
        return await task

    try:
        return asyncio.run(cancelled_by_signals())
    except asyncio.CancelledError:
        raise Stop from None
    finally:  # the loop, when it was closed, forgot what is to be done with signals
        if is_stopped:
            _ignore()
        else:
            stop_on_signals()


def _heeded() -> list[signal.Signals]:
    # `nohup` has a hang-up ignored, and means it.
    return [
        each for each in _STOPS if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN
    ]


def _ignore() -> None:
    for each in _STOPS:
        # Whoever asks again, out of impatience, must not interrupt the way out.
        signal.signal(each, signal.SIG_IGN)
