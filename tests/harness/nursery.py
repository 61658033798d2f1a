"""Processes within milliseconds: the near side of `nursery_main`."""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from lib.settings import Settings
from tests.harness.servers import ROOT


@dataclass(slots=True, kw_only=True)
class Child:
    """One forked process. `kill` is a real SIGKILL."""

    nursery: "Nursery"
    pid: int
    status: int | None = None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal and return at once."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Wait until it is gone; tell its exit status, or minus the signal that ended it."""
        if self.status is None:
            self.status = self.nursery.ask(wait=self.pid, looks=False)["status"]
        assert self.status is not None
        return self.status

    def poll(self) -> int | None:
        """Tell the same as `wait`, or None where it still runs."""
        if self.status is None:
            self.status = self.nursery.ask(wait=self.pid, looks=True)["status"]
        return self.status

    def kill(self) -> None:
        """Kill it and wait until it is gone."""
        self.signal(signal.SIGKILL)
        self.wait()

    @property
    def was_killed(self) -> bool:
        """It ended by SIGKILL, and by nothing else."""
        return self.status == -signal.SIGKILL


@dataclass(slots=True, kw_only=True)
class Server(Child):
    """A forked process that serves an application."""

    url: str


class Nursery:
    """Forks processes from one warm one; usable from any thread, one question at a time."""

    def __init__(self, line: socket.socket) -> None:
        self._line, self._turn = line, threading.Lock()
        self._told = line.makefile("r")

    def ask(self, streams: Sequence[int] = (), **fields: Any) -> dict[str, Any]:
        """Send one line and the descriptors that belong to it; give the line that comes back."""
        with self._turn:
            data = json.dumps(fields).encode() + b"\n"
            sent = socket.send_fds(self._line, [data], streams)
            self._line.sendall(data[sent:])
            return json.loads(self._told.readline())

    def start(
        self,
        env: Mapping[str, str],
        *,
        target: str = "api.index:app",
        output: IO[bytes] | None = None,
    ) -> Server:
        """Start a server; a connection is accepted from now on, and answered when it is up.

        output: takes what it writes, which is ours otherwise.
        """
        written = 2 if output is None else output.fileno()
        with Path(os.devnull).open() as nothing:
            born = self.ask(
                [nothing.fileno(), written, written], target=target, env=plain() | dict(env)
            )
        return Server(nursery=self, pid=born["pid"], url=f"http://127.0.0.1:{born['port']}")

    @contextmanager
    def server(
        self,
        env: Mapping[str, str],
        *,
        target: str = "api.index:app",
        output: IO[bytes] | None = None,
    ) -> Generator[Server]:
        """Run a server while the block does, unless it ends before."""
        started = self.start(env, target=target, output=output)
        try:
            yield started
        finally:
            if started.status is None:
                started.kill()

    def run(
        self,
        module: str,
        *arguments: str,
        env: Mapping[str, str],
        streams: Sequence[int],
        copy: Path | None = None,
    ) -> Child:
        """Start `python -m` of a module with exactly this environment and these three streams.

        copy: where it runs, and takes our code from; the project itself where none is given.
        """
        where = None if copy is None else str(copy)
        born = self.ask(streams, module=module, arguments=arguments, env=dict(env), copy=where)
        return Child(nursery=self, pid=born["pid"])


def plain() -> dict[str, str]:
    """Give what a child process inherits: PATH and its like, and no name of ours."""
    inherited = dict(os.environ)  # noqa: TID251  see above
    return {name: at for name, at in inherited.items() if name.lower() not in Settings.model_fields}


@contextmanager
def running_nursery() -> Generator[Nursery]:
    """Run a nursery while the block does; its children end with it."""
    near, far = socket.socketpair()
    with (
        near,
        subprocess.Popen(  # noqa: S603  our own interpreter and arguments
            [sys.executable, "-m", "tests.harness.nursery_main", str(far.fileno())],
            cwd=ROOT,
            env=plain(),
            pass_fds=[far.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        ),
    ):
        far.close()
        try:
            yield Nursery(near)
        finally:
            near.shutdown(socket.SHUT_RDWR)


@cache
def standing() -> Nursery:
    """Give the nursery of this process, which ends with it."""
    kept = ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(running_nursery())
