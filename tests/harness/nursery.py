"""Server processes within milliseconds, each to be killed: the near side of `nursery_main`."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lib.settings import Settings
from tests.harness.servers import ROOT


@dataclass(slots=True)
class Server:
    """One forked server process. `kill` is a real SIGKILL."""

    nursery: "Nursery"
    pid: int
    url: str
    status: int | None = None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal and return at once."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Wait until it is gone; tell its exit status, or minus the signal that ended it."""
        status = self.status
        if status is None:
            status = self.status = int(self.nursery.ask(wait=self.pid)["status"])
        return status

    def kill(self) -> None:
        """Kill it and wait until it is gone."""
        self.signal(signal.SIGKILL)
        self.wait()

    @property
    def was_killed(self) -> bool:
        """It ended by SIGKILL, and by nothing else."""
        return self.status == -signal.SIGKILL


class Nursery:
    """Forks servers from one warm process; usable from any thread, one question at a time."""

    def __init__(self, popen: subprocess.Popen[str]) -> None:
        self._popen = popen
        self._turn = threading.Lock()

    def ask(self, **fields: Any) -> dict[str, Any]:
        """Send one line, and give the line that comes back."""
        assert self._popen.stdin
        assert self._popen.stdout
        with self._turn:
            self._popen.stdin.write(json.dumps(fields) + "\n")
            self._popen.stdin.flush()
            return json.loads(self._popen.stdout.readline())

    def start(self, env: Mapping[str, str], *, target: str = "api.index:app") -> Server:
        """Start a server; a connection is accepted from now on, and answered when it is up."""
        born = self.ask(target=target, env=dict(env))
        return Server(self, born["pid"], f"http://127.0.0.1:{born['port']}")

    @contextmanager
    def server(self, env: Mapping[str, str], *, target: str = "api.index:app") -> Generator[Server]:
        """Run a server while the block does, unless it ends before."""
        started = self.start(env, target=target)
        try:
            yield started
        finally:
            if started.status is None:
                started.kill()


@contextmanager
def running_nursery() -> Generator[Nursery]:
    """Run a nursery while the block does; its servers end with it."""
    inherited = dict(os.environ)  # noqa: TID251  a child process inherits PATH and its like
    env = {name: at for name, at in inherited.items() if name.lower() not in Settings.model_fields}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.harness.nursery_main"],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as popen:
        assert popen.stdout
        assert json.loads(popen.stdout.readline()) == {"ready": True}
        yield Nursery(popen)
