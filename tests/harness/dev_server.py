"""The dev server as a person runs it: a process, what it prints, and a real client."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from lib.settings import Settings

ROOT = Path(__file__).parents[2]
START_S = 60.0
END_S = 15.0
GREETED = "Stop with Ctrl-C"


@dataclass(slots=True, kw_only=True)
class DevServer:
    """A dev server that was started; its output goes to a file, so it has no terminal."""

    popen: subprocess.Popen[bytes]
    log: Path

    @property
    def output(self) -> str:
        """Everything it has printed."""
        return self.log.read_text()

    @property
    def url(self) -> str:
        """Where its MCP endpoint is, as printed."""
        return self._printed(r"MCP +(http\S+)")

    def key(self, kind: str) -> str:
        """Give the `Read` or the `Write` key, as printed."""
        return self._printed(rf"{kind} key +(\S+)")

    @property
    def worker(self) -> int:
        """The process id of the server that it runs now."""
        found = subprocess.run(  # noqa: S603 - a fixed question
            ["/usr/bin/env", "pgrep", "-P", str(self.popen.pid), "-f", "lib.dev.worker"],
            capture_output=True,
            check=True,
        )
        return int(found.stdout)

    def wait_for(self, text: str, *, after: int = 0) -> None:
        """Wait until it has printed `text`, from position `after` on."""
        deadline = time.monotonic() + START_S
        while text not in self.output[after:]:
            assert time.monotonic() < deadline, self.output
            assert self.popen.poll() is None, self.output
            time.sleep(0.05)

    def end(self, by: signal.Signals = signal.SIGINT) -> int:
        """Send a signal, and give the exit status."""
        self.popen.send_signal(by)
        return self.popen.wait(END_S)

    @asynccontextmanager
    async def client(self, kind: str = "Write") -> AsyncGenerator[Client]:
        """Connect as an MCP host does."""
        headers = {"Authorization": f"Bearer {self.key(kind)}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=START_S) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            yield client

    def _printed(self, pattern: str) -> str:
        found = re.search(pattern, self.output)
        assert found is not None, self.output
        return found[1]


def clone(to: Path) -> Path:
    """Copy what runs into a folder of its own, where it may be changed."""
    for room in ("api", "lib"):
        shutil.copytree(ROOT / room, to / room)
    return to


@contextmanager
def dev_server(
    folder: Path, *options: str, cwd: Path | None = None, **settings: str
) -> Generator[DevServer]:
    """Run `python -m lib.dev` of the copy in `folder` until the block ends; it has greeted."""
    log = folder / "output.txt"
    with log.open("wb") as out:
        popen = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            [sys.executable, "-m", "lib.dev", *options],
            cwd=cwd or folder,
            env=plain_environment() | {"PYTHONPATH": str(folder)} | settings,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    server = DevServer(popen=popen, log=log)
    try:
        server.wait_for(GREETED)
        yield server
    finally:
        if popen.poll() is None:
            server.end(signal.SIGTERM)


def refused(folder: Path, *options: str, **settings: str) -> str:
    """Run a dev server that is refused; give what it says."""
    ended = subprocess.run(  # noqa: S603 - our own interpreter and arguments
        [sys.executable, "-m", "lib.dev", *options],
        cwd=folder,
        env=plain_environment() | settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=START_S,
    )
    assert (ended.returncode, ended.stdout) == (1, ""), ended
    assert "Traceback" not in ended.stderr
    return ended.stderr


def plain_environment() -> dict[str, str]:
    """Give the environment of a shell that sets nothing of ours."""
    shell = dict(os.environ)  # noqa: TID251 - a child process inherits PATH and its like
    return {
        name: value for name, value in shell.items() if name.lower() not in Settings.model_fields
    }
