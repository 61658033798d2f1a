"""Running a server process again and again: after each change to its code, and if it dies.

The store and the items service are elsewhere, so that neither costs any data.
"""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, Protocol

from lib.dev.server_process import ROOT, ServerProcess

_WATCHED = (ROOT / "api", ROOT / "lib")
_SUFFIXES = frozenset({".py", ".lua"})
_OURS = (ROOT / "lib" / "dev", ROOT / "lib" / "ops")  # not part of the server that is run again
_LOOK_EVERY_S = 0.3

type Code = dict[Path, int]
type Say = Callable[[str], None]


class Greet(Protocol):
    """Says something once."""

    def __call__(self, *, is_ready: bool) -> None:
        """Greet. is_ready: the server serves."""
        ...


def keep_running(start: Callable[[], ServerProcess], greet: Greet, say: Say) -> NoReturn:
    """Run one server process after the other; ends only by an exception, and ends the last one.

    Args:    start: start a process, always on the same socket.
             greet: called once, when the first one serves or has given up.
    """
    code = _code()  # before a start: what is saved meanwhile counts as a change
    server = start()
    try:
        _await(server, say)
        greet(is_ready=server.is_ready)
        while True:
            now, why = _wait_for_a_reason(server, code)
            server.stop()
            say(why)
            code, server = now, start()
            _await(server, say)
    finally:
        server.stop()


def _await(server: ServerProcess, say: Say) -> None:
    if not server.wait_ready():
        say("The server did not start; the next change to its code starts it again.")


def _wait_for_a_reason(server: ServerProcess, before: Code) -> tuple[Code, str]:
    while True:
        now = _code()
        if now != before:
            return now, _told(before, now)
        # One that never served would not do so now; only a change can help it.
        if server.is_ready and server.status is not None:
            return now, f"The server {ended_by(server.status)}; starting it again."
        time.sleep(_LOOK_EVERY_S)


def ended_by(status: int) -> str:
    """Say how a process ended, from its exit status."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was ended by {signal.Signals(-status).name}"


def _told(before: Code, now: Code) -> str:
    changed = sorted(
        path.relative_to(ROOT).as_posix()
        for path in before.keys() | now.keys()
        if before.get(path) != now.get(path)
    )
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return f"{changed[0]}{more} changed; reloading."


def _code() -> Code:
    found: Code = {}
    for folder in _WATCHED:
        for path in folder.rglob("*"):
            if path.suffix in _SUFFIXES and not any(map(path.is_relative_to, _OURS)):
                try:
                    found[path] = path.stat().st_mtime_ns
                except FileNotFoundError:  # an editor replaced it just now
                    continue
    return found
