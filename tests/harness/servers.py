"""The server under test: in this process, or as a process of its own that can be killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import IO

import httpx
from starlette.applications import Starlette

from lib.backend import connect
from lib.contract import Tool
from lib.machinery.app import create_app
from lib.machinery.deployment import Ambient
from lib.machinery.runner.deadline import Clock
from lib.settings import Misconfigured, Settings, checked
from lib.tools import catalogue
from tests.harness.stack import READ_KEY
from tests.harness.wire import PLAIN

ROOT = Path(__file__).parents[2]
START_S = 20.0
# An application lives as long as its process: its clients close with their loop, not before.
_KEPT: deque[Starlette] = deque(maxlen=32)


@dataclass(slots=True)
class Process:
    """A server process. `kill` is a real SIGKILL."""

    popen: subprocess.Popen[bytes]
    url: str

    def kill(self) -> None:
        """Kill it and wait until it is gone."""
        self.popen.send_signal(signal.SIGKILL)
        self.popen.wait(10)

    @property
    def was_killed(self) -> bool:
        """It ended by SIGKILL, and by nothing else."""
        return self.popen.poll() == -signal.SIGKILL


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running_server(
    env: dict[str, str],
    *,
    target: str = "api.index:app",
    cwd: Path = ROOT,
    output: IO[bytes] | None = None,
) -> Generator[Process]:
    """Run the application as its users do; stop it at the end, if it still runs.

    output: takes what it writes, which is ours otherwise.
    """
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", target, "--port", str(port)]
    base = {name: value for name, value in _inherited().items() if not _is_ours(name)}
    popen = subprocess.Popen(  # noqa: S603  our own interpreter and arguments
        [*command, "--log-level", "warning"],
        cwd=cwd,
        env={**base, **env},
        stdout=output,
        stderr=output,
    )
    process = Process(popen, f"http://127.0.0.1:{port}")
    try:
        _wait_until_it_answers(process)
        _warm(process)
        yield process
    finally:
        if popen.poll() is None:
            popen.terminate()
            popen.wait(10)


def in_process(
    env: dict[str, str],
    *,
    clock: Clock | None = None,
    tools: Sequence[Tool] | None = None,
    platform_end: Callable[[], float | None] = lambda: None,
) -> Starlette:
    """Build the application here, from the same names; `tools` replaces the example's."""
    import_module("lib.machinery.tool_call")  # its first import would count against a call's time
    import_module("lib.machinery.server")
    settings = settings_of(env)
    known = settings if isinstance(settings, Settings) else None
    backend = connect(read=known and known.read_backend, write=known and known.write_backend)
    ambient = Ambient(
        clock=clock or Clock(steady=time.monotonic, wall=time.time),  # noqa: TID251  as api/ does
        new_id=lambda: token_hex(16),
        platform_end=platform_end,
    )
    declared = catalogue(backend) if tools is None else tools
    app = create_app(settings, declared, ambient)
    _KEPT.append(app)
    return app


def settings_of(env: dict[str, str]) -> Settings | Misconfigured:
    """Check settings given as an environment, without an environment."""
    return checked(Settings(**{name.lower(): value for name, value in env.items()}))  # pyright: ignore[reportArgumentType]


def client_of(app: Starlette) -> httpx.AsyncClient:
    """Speak HTTP to an application in this process."""
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1", timeout=30
    )


def client_at(url: str, **headers: str) -> httpx.AsyncClient:
    """Speak HTTP to a server on a socket."""
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=30, verify=PLAIN)


def _warm(process: Process) -> None:
    # The first call imports the SDK and the runner, which would count against a short call's time.
    httpx.post(
        f"{process.url}/mcp",
        headers={"Authorization": f"Bearer {READ_KEY}", "Accept": "application/json"},
        json={
            "jsonrpc": "2.0",
            "id": 0,
            "method": "tools/call",
            "params": {"name": "list_toolsets", "arguments": {}},
        },
        timeout=START_S,
    )


def _inherited() -> dict[str, str]:
    return dict(os.environ)  # noqa: TID251  a child process inherits PATH and its like


def _is_ours(name: str) -> bool:
    return name.lower() in Settings.model_fields


def _wait_until_it_answers(process: Process) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.popen.poll() is not None:
            raise RuntimeError(f"the server ended with {process.popen.returncode}")
        try:
            httpx.get(f"{process.url}/healthz", timeout=1)
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("the server did not answer")
