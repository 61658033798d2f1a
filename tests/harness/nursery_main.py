"""A warm parent of server processes: it imports once, and forks a server whenever it is asked to.

Starting an interpreter costs seconds of imports, a fork milliseconds; what is forked is uvicorn
with the application, as its users run it, in a process of its own. Spoken to over stdin and
stdout, one JSON line each way; when stdin ends, so does everything.
"""

import json
import os
import signal
import socket
import sys
from importlib import import_module
from typing import Any

import uvicorn

WARM = (
    "lib.machinery.app",
    "lib.machinery.called",
    "lib.machinery.limit",
    "lib.machinery.runner.perform",
    "lib.machinery.runner.reconcile",
    "lib.machinery.runner.store",
    "lib.machinery.server",
    "lib.tools",
    "httpx",
    "mcp.server.streamable_http_manager",
    "upstash_redis.asyncio",
)


def main() -> None:
    """Obey one line after the other."""
    for name in WARM:
        import_module(name)
    _say(ready=True)
    children: set[int] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        if "wait" in asked:
            children.discard(asked["wait"])
            _, status = os.waitpid(asked["wait"], 0)
            _say(status=os.waitstatus_to_exitcode(status))
        else:
            pid, port = _fork(asked["target"], asked["env"])
            children.add(pid)
            _say(pid=pid, port=port)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _say(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def _fork(target: str, env: dict[str, str]) -> tuple[int, int]:
    # The protocol is named: without it asyncio sets no TCP_NODELAY, and a call takes 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(256)
    pid = os.fork()
    if pid == 0:
        try:
            _serve(listener, target, env)
        finally:
            os._exit(1)
    port = listener.getsockname()[1]
    listener.close()
    return pid, port


def _serve(listener: socket.socket, target: str, env: dict[str, str]) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.environ.update(env)  # noqa: TID251  the environment of this one server
    module, _, name = target.partition(":")
    app = getattr(import_module(module), name)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    server.run(sockets=[listener])
    os._exit(0)


if __name__ == "__main__":
    main()
