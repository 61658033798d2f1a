"""The server as a process of its own: one that a reload ends, and a SIGKILL, and its parent's end.

It serves on a socket that its parent opened and keeps, so that no caller is refused while one
process follows another. `lib/dev/server_process.py` starts it:
worker TARGET SOCKET_FD READY_FD audit|quiet.
"""

import logging
import os
import socket
import sys
import threading
import traceback
from importlib import import_module
from pathlib import Path

import uvicorn

from lib.dev.logs import log_config

ROOT = Path(__file__).parents[2]
_PARENT = 0  # standard input: a pipe that the parent holds open and never writes to
_GRACE_S = 2  # for requests under way at a reload or a Ctrl-C; then they are cancelled
_FAILED = 1


class _Server(uvicorn.Server):
    """Says when it serves, through a pipe; its end without a word says that it never will."""

    def __init__(self, config: uvicorn.Config, ready: int) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        os.write(self._ready, b"\n")
        os.close(self._ready)


def work(target: str, listener: int, ready: int, *, is_quiet: bool) -> int:
    """Serve until told to end; the exit status.

    Args:    target: `module:app`, or `module:function()` for one that makes the app.
    """
    if is_quiet:
        logging.disable()
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    config = uvicorn.Config(
        target.removesuffix("()"),
        factory=target.endswith("()"),
        log_config=log_config(is_brief=sys.stderr.isatty()),
        timeout_graceful_shutdown=_GRACE_S,
    )
    try:
        config.load()
        for name in ("lib.machinery.server", "lib.machinery.tool_call"):
            import_module(name)  # now, and not while the first caller waits
    except Exception as fault:  # noqa: BLE001 - whatever the edited code raises, a person reads it
        _explain(fault)
        return _FAILED
    # Named in full: without its protocol asyncio leaves small packets waiting, 40 ms per call.
    kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    _Server(config, ready).run(sockets=[socket.socket(*kind, fileno=listener)])
    return 0


def _end_with_the_parent() -> None:
    while os.read(_PARENT, 4096):
        pass
    os._exit(_FAILED)  # the store and the items service are gone too


def _explain(fault: Exception) -> None:
    """Print the fault and the lines of this project that led to it, without the server's own."""
    told = traceback.TracebackException.from_exception(fault)
    own = [frame for frame in told.stack if _is_ours(Path(frame.filename))]
    told.stack = traceback.StackSummary.from_list(own)
    sys.stderr.write("".join(told.format()))


def _is_ours(file: Path) -> bool:
    return file.is_relative_to(ROOT) and not file.is_relative_to(sys.prefix) and file != _SELF


_SELF = Path(__file__)


if __name__ == "__main__":
    named, on, ready_pipe, loudness = sys.argv[1:]
    sys.exit(work(named, int(on), int(ready_pipe), is_quiet=loudness == "quiet"))
