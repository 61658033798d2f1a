"""The process between the engine and whoever started it, so that the engine never outlives him.

It reads a pipe whose other end the parent holds. The end of the file, which every Unix delivers
also when the parent was killed, stops the engine gracefully. Run as a script, with the standard
library alone: supervisor.py BINARY DATA_DIR SOCKET FSYNC LOCK_FD.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType

STOP_LIMIT_S = 5.0  # then it is killed; what was acknowledged and fsynced is on disk by then
_PIPE = 0  # the supervisor's standard input


def supervise(arguments: list[str]) -> int:
    """Run the engine until it ends or the parent is gone; the exit status is the engine's."""
    binary, data_dir, socket_path, fsync, lock = arguments
    options = f"--port 0 --appendonly yes --appendfsync {fsync} --maxmemory-policy noeviction"
    files = ["--save", "", "--unixsocketperm", "700", "--unixsocket", socket_path]
    with Path(data_dir, "engine.log").open("wb") as log:
        engine = subprocess.Popen(  # noqa: S603 - the arguments come from start_engine
            [binary, *options.split(), *files],
            cwd=data_dir,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(int(lock),),
        )

    def stop(_signal: int, _frame: FrameType | None) -> None:
        engine.terminate()

    signal.signal(signal.SIGTERM, stop)
    threading.Thread(target=_stop_when_orphaned, args=(engine,), daemon=True).start()
    status = engine.wait()
    if Path(socket_path).parent != Path(data_dir):
        shutil.rmtree(Path(socket_path).parent, ignore_errors=True)
    return status


def _stop_when_orphaned(engine: subprocess.Popen[bytes]) -> None:
    while os.read(_PIPE, 4096):
        pass
    engine.terminate()
    try:
        engine.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        engine.kill()


if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1:]))
