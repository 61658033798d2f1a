"""Starting, awaiting and ending the process of `lib/dev/worker.py`, seen from its parent."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from select import select
from socket import socket
from typing import Literal

ROOT = Path(__file__).parents[2]
APP = "api.index:app"
START_LIMIT_S = 30.0  # a first start without bytecode takes about 5 s
END_LIMIT_S = 2.0  # the connection of a killed process breaks before its parent hears of it
STOP_LIMIT_S = 5.0  # above the worker's own grace for requests under way

type Loudness = Literal["audit", "quiet"]


@dataclass(slots=True, kw_only=True)
class ServerProcess:
    """A server process that was started; it may be gone again."""

    popen: subprocess.Popen[bytes]
    is_ready: bool = False
    _ready: int

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self.popen.poll()

    def wait_ready(self) -> bool:
        """Wait until it serves; False if it ended before, or needs longer than START_LIMIT_S."""
        readable, _, _ = select([self._ready], [], [], START_LIMIT_S)
        # The end of the pipe means that it died, or gave up, before it served.
        self.is_ready = bool(readable) and os.read(self._ready, 1) != b""
        return self.is_ready

    async def ended(self) -> int | None:
        """Wait a moment for an end that is due; the exit status, or None if it runs on."""
        try:
            return await asyncio.to_thread(self.popen.wait, END_LIMIT_S)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> None:
        """Let it finish what it is doing, within a limit, and wait until it is gone."""
        if self.status is None:
            self.popen.terminate()
        try:
            self.popen.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._close()

    def kill(self) -> None:
        """End it by SIGKILL, at once, and wait until it is gone."""
        self.popen.kill()
        self.popen.wait()
        self._close()

    def _close(self) -> None:
        if self.popen.stdin is not None and not self.popen.stdin.closed:
            self.popen.stdin.close()
            os.close(self._ready)


def start_server(
    listener: socket, env: Mapping[str, str], *, target: str = APP, loudness: Loudness = "audit"
) -> ServerProcess:
    """Start a process that serves `target` on `listener`, with `env` and nothing else around it.

    It ends when this process does, however this one ends.
    """
    ready, to_worker = os.pipe()
    on = str(listener.fileno())
    try:
        popen = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", "lib.dev.worker", target, on, str(to_worker), loudness],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            pass_fds=(listener.fileno(), to_worker),
            start_new_session=True,  # a Ctrl-C reaches the parent alone, which ends this one
        )
    except BaseException:
        os.close(ready)
        raise
    finally:
        os.close(to_worker)
    return ServerProcess(popen=popen, _ready=ready)
