"""Running a server process again and again: after each change to its code, and if it dies.

The store and the items service are elsewhere, so that neither costs any data.
"""

import signal
import time
from collections.abc import Callable
from pathlib import Path

from lib.dev.server_process import ROOT, ServerProcess

_WATCHED = (ROOT / "api", ROOT / "lib")
_SUFFIXES = frozenset({".py", ".lua"})
_OURS = (ROOT / "lib" / "dev", ROOT / "lib" / "ops")  # not part of the server that is run again
_LOOK_EVERY_S = 0.3

type Say = Callable[[str], None]


def keep_running(first: ServerProcess, start: Callable[[], ServerProcess], say: Say) -> None:
    """Let `first` run, then its successors; ends only by an exception, and ends the last one.

    Args:    start: start a process on the same socket.
    """
    server = first
    try:
        while True:
            why = _wait_for_a_reason(server)
            server.stop()
            say(why)
            server = start()
            if not server.wait_ready():
                say("The server did not start; the next change to its code starts it again.")
    finally:
        server.stop()


def _wait_for_a_reason(server: ServerProcess) -> str:
    before = _code()
    while True:
        time.sleep(_LOOK_EVERY_S)
        now = _code()
        if now != before:
            return _told(before, now)
        # One that never served would not do so now; only a change can help it.
        if server.is_ready and server.status is not None:
            return f"The server {ended_by(server.status)}; starting it again."


def ended_by(status: int) -> str:
    """Say how a process ended, from its exit status."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was ended by {signal.Signals(-status).name}"


def _told(before: dict[Path, int], now: dict[Path, int]) -> str:
    changed = sorted(
        path.relative_to(ROOT).as_posix()
        for path in before.keys() | now.keys()
        if before.get(path) != now.get(path)
    )
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return f"{changed[0]}{more} changed; reloading."


def _code() -> dict[Path, int]:
    found: dict[Path, int] = {}
    for folder in _WATCHED:
        for path in folder.rglob("*"):
            if path.suffix in _SUFFIXES and not any(map(path.is_relative_to, _OURS)):
                try:
                    found[path] = path.stat().st_mtime_ns
                except FileNotFoundError:  # an editor replaced it just now
                    continue
    return found
