"""Cold starts: a new process, its first answer, and what both took. Linux: it reads `/proc`.

CPU is what the system counted for the process, so that other work on the machine disturbs little;
bytecode is warm, as in a deployment, in a folder of its own.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.harness.servers import ROOT, free_port

START_S = 60.0
POLL_S = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One server to start. packages: the folder it imports from. request: its first one, whole."""

    target: str
    packages: Path
    request: bytes
    status: int
    env: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What one start took, until the first answer was out."""

    cpu_ms: float
    wall_ms: float
    peak_mb: float


def cold_start(start: Start, bytecode: Path) -> Started:
    """Start it, ask, and kill it when it has answered."""
    port = free_port()
    command = [sys.executable, "-S", "-m", "uvicorn", start.target, "--port", str(port)]
    paths = f"{start.packages}{os.pathsep}{ROOT}"
    began = time.perf_counter()
    child = subprocess.Popen(  # noqa: S603  our own interpreter and arguments
        [*command, "--log-level", "warning"],
        cwd=ROOT,
        env={**start.env, "PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": str(bytecode)},
        stderr=subprocess.DEVNULL,
    )
    try:
        answer = _asked(port, start.request, child)
        wall_ms = 1000 * (time.perf_counter() - began)
        peak_kb = _peak_kb(child.pid)
    finally:
        child.send_signal(signal.SIGKILL)
        _, _, used = os.wait4(child.pid, 0)
        child.returncode = -signal.SIGKILL  # it was waited for here
    status = int(answer.split(b" ", 2)[1])
    if status != start.status:
        raise RuntimeError(f"{start.target} answered {answer[:400]!r}")
    cpu_ms = 1000 * (used.ru_utime + used.ru_stime)
    return Started(cpu_ms=cpu_ms, wall_ms=wall_ms, peak_mb=peak_kb / 1024)


def raw(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """Write a whole HTTP request that closes its connection."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "connection: close", "", ""]).encode() + body


def _asked(port: int, request: bytes, child: subprocess.Popen[bytes]) -> bytes:
    deadline = time.monotonic() + START_S
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=START_S) as wire:
                wire.sendall(request)
                return b"".join(iter(lambda: wire.recv(65536), b""))
        except ConnectionRefusedError:
            if child.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the server did not start") from None
            time.sleep(POLL_S)


def _peak_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
