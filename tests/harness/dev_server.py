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
from tempfile import TemporaryFile
from threading import Timer
from typing import IO, Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.harness.nursery import Child, plain, standing

ROOT = Path(__file__).parents[2]
START_S = 60.0
END_S = 15.0
GREETED = "Stop with Ctrl-C"


@dataclass(slots=True, kw_only=True)
class DevServer:
    """A dev server that was started; its output goes to a file, so it has no terminal."""

    process: Child | subprocess.Popen[bytes]
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
            ["/usr/bin/env", "pgrep", "-P", str(self.process.pid), "-f", "lib.dev.worker"],
            capture_output=True,
            check=True,
        )
        return int(found.stdout)

    def wait_for(self, text: str, *, after: int = 0) -> None:
        """Wait until it has printed `text`, from position `after` on."""
        deadline = time.monotonic() + START_S
        while text not in self.output[after:]:
            assert time.monotonic() < deadline, self.output
            assert self.process.poll() is None, self.output
            time.sleep(0.05)

    def end(self, by: signal.Signals = signal.SIGINT) -> int:
        """Send a signal, and give the exit status."""
        os.kill(self.process.pid, by)
        deadline = time.monotonic() + END_S
        while (status := self.process.poll()) is None:
            assert time.monotonic() < deadline, self.output
            time.sleep(0.02)
        return status

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
def cold_dev_server(
    folder: Path, *options: str, cwd: Path, **settings: str
) -> Generator[DevServer]:
    """Run `python -m lib.dev` of the copy in `folder` as a newcomer does, from `cwd`."""
    log = folder / "output.txt"
    with log.open("wb") as out:
        popen = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            [sys.executable, "-m", "lib.dev", *options],
            cwd=cwd,
            env=plain() | {"PYTHONPATH": str(folder)} | settings,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    with _running(DevServer(process=popen, log=log)) as server:
        yield server


@contextmanager
def dev_server(folder: Path, *options: str, **settings: str) -> Generator[DevServer]:
    """Run the same without the cost of a new interpreter, until the block ends; it has greeted."""
    log = folder / "output.txt"
    with log.open("wb") as out:
        process = _started(folder, *options, out=out, err=out, **settings)
    with _running(DevServer(process=process, log=log)) as server:
        yield server


def _started(folder: Path, *options: str, out: IO[Any], err: IO[Any], **settings: str) -> Child:
    with Path(os.devnull).open() as nothing:
        return standing().run(
            "lib.dev",
            *options,
            env=plain() | {"PYTHONPATH": str(folder)} | settings,
            streams=[nothing.fileno(), out.fileno(), err.fileno()],
            copy=folder,
        )


@contextmanager
def _running(server: DevServer) -> Generator[DevServer]:
    try:
        server.wait_for(GREETED)
        yield server
    finally:
        if server.process.poll() is None:
            server.end(signal.SIGTERM)


def refused(folder: Path, *options: str, **settings: str) -> str:
    """Run a dev server that is refused; give what it says."""
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        process = _started(folder, *options, out=out, err=err, **settings)
        too_late = Timer(START_S, process.signal, [signal.SIGKILL])
        too_late.start()
        status = process.wait()
        too_late.cancel()
        for each in (out, err):
            each.seek(0)
        said, complained = out.read(), err.read()
    assert (status, said) == (1, ""), complained
    assert "Traceback" not in complained
    return complained


def refused_cold(folder: Path, *options: str, **settings: str) -> str:
    """Tell the same of an interpreter that has imported nothing."""
    ended = subprocess.run(  # noqa: S603 - our own interpreter and arguments
        [sys.executable, "-m", "lib.dev", *options],
        cwd=folder,
        env=plain() | settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=START_S,
    )
    assert (ended.returncode, ended.stdout) == (1, ""), ended
    assert "Traceback" not in ended.stderr
    return ended.stderr
