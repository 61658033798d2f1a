"""A warm parent of processes: it imports once, and forks a process whenever it is asked to.

Starting an interpreter costs seconds of imports, a fork milliseconds. What is forked is uvicorn
with an application, or `python -m` of a module, as its users run it: in a process of its own, with
the environment and the standard streams that come with the order. Orders come over a socket, one
JSON line each way; when it ends, so does everything.
"""

import json
import os
import runpy
import signal
import socket
import sys
import traceback
from collections.abc import Generator
from importlib import import_module
from typing import Any

import uvicorn

WARM = (
    "lib.machinery.app",
    "lib.machinery.limit",
    "lib.machinery.runner.perform",
    "lib.machinery.runner.reconcile",
    "lib.machinery.runner.store",
    "lib.machinery.server",
    "lib.machinery.tool_call",
    "lib.ops.answer",
    "lib.ops.doctor",
    "lib.ops.keys",
    "lib.ops.operations",
    "lib.ops.resolve",
    "lib.tools",
    "argparse",
    "httpx",
    "mangum",
    "mcp.server.streamable_http_manager",
    "pydantic_settings",
    "rich.console",
    "rich.table",
    "upstash_redis.asyncio",
)


def main() -> None:
    """Obey one order after the other."""
    for name in WARM:
        import_module(name)
    line = socket.socket(fileno=int(sys.argv[1]))
    children: set[int] = set()
    for order, streams in _orders(line):
        if "wait" in order:
            pid, status = os.waitpid(order["wait"], os.WNOHANG if order["looks"] else 0)
            children.discard(pid)
            _say(line, status=os.waitstatus_to_exitcode(status) if pid else None)
        else:
            pid, port = _fork(order, streams)
            children.add(pid)
            _say(line, pid=pid, port=port)
        for stream in streams:
            os.close(stream)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _orders(line: socket.socket) -> Generator[tuple[dict[str, Any], list[int]]]:
    text, streams = b"", list[int]()
    while True:
        data, more, _, _ = socket.recv_fds(line, 65536, 3)
        if not data:
            return
        text, streams = text + data, streams + more
        if text.endswith(b"\n"):
            yield json.loads(text), streams
            text, streams = b"", []


def _say(line: socket.socket, **fields: Any) -> None:
    line.sendall(json.dumps(fields).encode() + b"\n")


def _fork(order: dict[str, Any], streams: list[int]) -> tuple[int, int]:
    # The protocol is named: without it asyncio sets no TCP_NODELAY, and a call takes 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        if "target" in order:
            listener.bind(("127.0.0.1", 0))
            listener.listen(256)
        pid = os.fork()
        if pid == 0:
            try:
                os._exit(_live(order, streams, listener))
            finally:
                os._exit(1)
        return pid, listener.getsockname()[1]


def _live(order: dict[str, Any], streams: list[int], listener: socket.socket) -> int:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.environ.clear()  # noqa: TID251  the environment of this one process
    os.environ.update(order["env"])  # noqa: TID251  the same
    try:
        if order.get("copy"):
            _move_to(order["copy"])
        if "target" in order:
            _serve(order["target"], listener)
        else:
            sys.argv = [order["module"], *order["arguments"]]
            runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  what an interpreter does with what nobody caught
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _move_to(copy: str) -> None:
    """Leave our code behind, and keep what others made: ours is imported anew, from a copy."""
    os.chdir(copy)
    sys.path[0] = copy
    for name in [name for name in sys.modules if name.partition(".")[0] in {"api", "lib"}]:
        del sys.modules[name]


def _serve(target: str, listener: socket.socket) -> None:
    server = uvicorn.Server(uvicorn.Config(target, log_level="warning", access_log=False))
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
