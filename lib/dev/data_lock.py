"""One engine per data directory: two that append to one file would destroy it.

The lock is held by whoever inherited its descriptor, so it outlives the process that took it and
ends with the engine. It holds the process id of who took it, for the person who meets it.
"""

import os
import time
from pathlib import Path

TAKEOVER_LIMIT_S = 5.0  # the engine of a killed holder flushes and leaves in 0.1 s
_POLL_S = 0.005
_HOLDER_DIGITS = 20


class EngineStartError(Exception):
    """The engine did not start; the text is for the person at the terminal."""


class DataInUseError(EngineStartError):
    """Another instance holds the data directory."""


def lock_data(data_dir: Path) -> int:
    """Take the lock of `data_dir`; gives the descriptor that holds it.

    Raises:  DataInUseError: at once if its holder lives, else if the holder's engine stays.
    """
    import fcntl  # absent where there is no engine either

    lock = os.open(data_dir / "engine.lock", os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + TAKEOVER_LIMIT_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            holder = int(os.pread(lock, _HOLDER_DIGITS, 0) or b"0")
            # The engine of a holder that was killed is on its way out, and worth waiting for.
            if not is_alive(holder) and time.monotonic() < deadline:
                time.sleep(_POLL_S)
                continue
            os.close(lock)
            raise DataInUseError(
                f"The data in {data_dir} is in use by another instance (process {holder}). "
                "Stop that one, or choose another data directory."
            ) from held
        os.pwrite(lock, str(os.getpid()).ljust(_HOLDER_DIGITS).encode(), 0)
        return lock


def is_alive(pid: int) -> bool:
    """Say whether there is such a process, a zombie included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid > 0
