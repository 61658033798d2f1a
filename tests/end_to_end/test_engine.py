"""The embedded engine as a person meets it: real processes, real kills, files on a real disk."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lib.dev.data_lock import DataInUseError, is_alive
from lib.dev.engine import EngineFailedError, start_engine
from lib.dev.resp import Pool, Reply

ROOT = Path(__file__).parents[2]
# Starts an engine, says where it is, and then only waits to be killed.
HOLDER = """
import sys
from pathlib import Path
from lib.dev.engine import start_engine
with start_engine(Path(sys.argv[1]), fsync="always") as engine:
    print(engine.socket_path, engine.pid, flush=True)
    sys.stdin.read()
"""


def ask(socket_path: Path, *words: str) -> Reply:
    async def exchange() -> Reply:
        pool = Pool(socket_path)
        (reply,) = await pool.exchange([tuple(word.encode() for word in words)])
        await pool.aclose()
        return reply

    return asyncio.run(exchange())


def test_an_engine_dies_with_a_killed_parent_and_its_data_survives(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", HOLDER, tmp_path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        socket_path, pid = parent.stdout.readline().split()
        assert ask(Path(os.fsdecode(socket_path)), "SET", "kept", "this") == b"OK"
        parent.kill()
        assert parent.wait(5) == -signal.SIGKILL

    # It waits for the old engine to leave, for 5 s at most.
    with start_engine(tmp_path) as engine:
        assert not is_alive(int(pid))
        assert ask(engine.socket_path, "GET", "kept") == b"this"


def test_a_killed_engine_has_kept_what_it_acknowledged(tmp_path: Path) -> None:
    with start_engine(tmp_path, fsync="always") as engine:
        written = [ask(engine.socket_path, "SET", f"key{n}", str(n)) for n in range(20)]
        os.kill(engine.pid, signal.SIGKILL)
        engine.supervisor.wait(5)

    with start_engine(tmp_path) as again:
        kept = ask(again.socket_path, "DBSIZE")
    assert (written, kept) == ([b"OK"] * 20, 20)


def test_a_second_instance_on_the_same_data_is_refused_by_name(tmp_path: Path) -> None:
    with start_engine(tmp_path) as engine:
        with pytest.raises(DataInUseError) as refusal:
            start_engine(tmp_path)
        assert ask(engine.socket_path, "PING") == b"PONG"

    assert str(tmp_path) in str(refusal.value)
    assert f"another instance (process {os.getpid()})" in str(refusal.value)


def test_stopping_is_graceful_and_frees_the_data(tmp_path: Path) -> None:
    with start_engine(tmp_path) as engine:
        ask(engine.socket_path, "SET", "kept", "this")
    engine.stop()

    assert engine.supervisor.returncode == 0
    assert "ready to exit" in (tmp_path / "engine.log").read_text()
    assert not is_alive(engine.pid)
    with start_engine(tmp_path) as again:
        assert ask(again.socket_path, "GET", "kept") == b"this"


def test_an_engine_whose_supervisor_was_killed_is_still_stopped(tmp_path: Path) -> None:
    with start_engine(tmp_path) as engine:
        os.kill(engine.supervisor.pid, signal.SIGKILL)
        engine.supervisor.wait(5)
        assert ask(engine.socket_path, "PING") == b"PONG"

    start_engine(tmp_path).stop()


def test_a_long_path_gets_a_socket_elsewhere_that_is_removed_at_the_end(tmp_path: Path) -> None:
    data_dir = tmp_path / ("long" * 30)
    with start_engine(data_dir) as engine:
        assert len(os.fsencode(engine.socket_path)) <= 103
        assert ask(engine.socket_path, "PING") == b"PONG"
        assert (data_dir / "appendonlydir").is_dir()

    assert not engine.socket_path.parent.exists()


def test_the_engine_has_no_port_and_evicts_nothing_and_appends_to_its_file(tmp_path: Path) -> None:
    settings = {"port": "0", "maxmemory-policy": "noeviction", "maxmemory": "0"}
    settings |= {"appendonly": "yes", "appendfsync": "always", "save": "", "dir": str(tmp_path)}
    with start_engine(tmp_path, fsync="always") as engine:
        found = {name: ask(engine.socket_path, "CONFIG", "GET", name) for name in settings}

    assert found == {name: [name.encode(), is_.encode()] for name, is_ in settings.items()}


def test_a_broken_file_is_reported_with_the_engines_own_words(tmp_path: Path) -> None:
    start_engine(tmp_path).stop()
    (manifest,) = (tmp_path / "appendonlydir").glob("*.manifest")
    manifest.write_text("broken\n")

    with pytest.raises(EngineFailedError, match="Invalid AOF manifest"):
        start_engine(tmp_path)


def test_without_an_engine_the_error_names_the_variables_of_a_real_database(tmp_path: Path) -> None:
    # -S leaves the installed packages out: the platform whose wheel could not be installed.
    tried = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-S", "-c", HOLDER, tmp_path], cwd=ROOT, capture_output=True, check=False
    )

    said = tried.stderr.decode()
    assert "NoEngineError" in said
    for prefix in ("KV_REST_API", "UPSTASH_REDIS_REST"):
        for name in ("URL", "TOKEN", "READ_ONLY_TOKEN"):
            assert f"{prefix}_{name}" in said


def test_no_listening_socket_of_another_program_is_taken_for_the_engine(tmp_path: Path) -> None:
    stale = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(os.fspath(stale))

    with start_engine(tmp_path) as engine:
        assert ask(engine.socket_path, "PING") == b"PONG"
