"""A signal that asks a program to stop, as one exception on the main thread, raised once."""

import signal
from types import FrameType

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop(KeyboardInterrupt):
    """A person, or whoever supervises us, asks us to stop; of a kind that event loops let by."""


def stop_on_signals() -> None:
    """Raise Stop at the first signal, wherever the main thread is, and ignore what follows."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        for each in _STOPS:
            # Whoever asks again, out of impatience, must not interrupt the way out.
            signal.signal(each, signal.SIG_IGN)
        raise Stop

    for each in _STOPS:
        # `nohup` has a hang-up ignored, and means it.
        if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, stop)
