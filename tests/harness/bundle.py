"""The function bundle: built by Vercel's own builder, booted in Vercel's own runtime.

Source: vercel-runtime speaks NUL-terminated JSON messages over the socket at VERCEL_IPC_PATH.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.harness.servers import ROOT
from tests.harness.tree import copy_tree

NODE_BIN = ROOT / "tests" / "node" / "node_modules" / ".bin"
BUILD_S = 300
START_S = 30


def build(folder: Path, *, secret: str) -> Path:
    """Build a copy of the tree as `vercel build` does, with stray secrets beside it."""
    tree = copy_tree(folder / "tree")
    for stray in (".env", ".env.local", ".local/keys"):
        (tree / stray).parent.mkdir(exist_ok=True)
        (tree / stray).write_text(f"BACKEND_WRITE_TOKEN={secret}\n")
    (tree / ".vercel").mkdir()
    # This much of a link is enough for the builder; there is no account behind it.
    (tree / ".vercel" / "project.json").write_text('{"settings":{"framework":"fastapi"}}')
    out = folder / "out"
    subprocess.run(  # noqa: S603  the pinned tool of tests/node
        [NODE_BIN / "vercel", "build", "--standalone", "--yes", "--output", out],
        cwd=tree,
        check=True,
        env=tools(),
        timeout=BUILD_S,
        capture_output=True,
    )
    return out


def tools() -> dict[str, str]:
    """Give an environment in which Vercel's CLI finds a real Python, uv and Node."""
    # Real interpreters come first: shims in front of them mislead the builder.
    uv = os.environ.get("UV") or shutil.which("uv") or "uv"  # noqa: TID251
    folders = [Path(sys.base_prefix) / "bin", Path(uv).parent, NODE_BIN]
    inherited = dict(os.environ)  # noqa: TID251
    path = os.pathsep.join([*map(str, folders), inherited["PATH"]])
    quiet = {"VERCEL_TELEMETRY_DISABLED": "1", "NO_UPDATE_NOTIFIER": "1"}
    return {**inherited, **quiet, "PATH": path}


@dataclass(slots=True)
class Instance:
    """One booted instance. messages: what it told the platform."""

    popen: subprocess.Popen[bytes]
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    started: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.told('server-started')['httpPort']}"

    def told(self, kind: str) -> dict[str, Any]:
        """Give the payload of its first message of a kind."""
        return next(each["payload"] for each in self.messages if each["type"] == kind)

    def listen(self, server: socket.socket) -> None:
        """Read messages until it is gone."""
        with server, server.accept()[0] as line:
            rest = b""
            while data := line.recv(65536):
                *whole, rest = (rest + data).split(b"\0")
                for each in whole:
                    self.messages.append(json.loads(each))
                    if self.messages[-1]["type"] == "server-started":
                        self.started.set()


@contextmanager
def booted(out: Path, env: dict[str, str], folder: Path) -> Generator[Instance]:
    """Boot a bundle with exactly this environment, and stop it as the platform does."""
    function = out / "functions" / "fastapi.func"
    config = json.loads((function / ".vc-config.json").read_text())
    path = folder / f"{len(list(folder.glob('*.sock')))}.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen(1)
    module = config["handler"].rpartition(".")[0]
    popen = subprocess.Popen(  # noqa: S603
        [
            sys.base_prefix + "/bin/python3",
            "-c",
            f"import sys; sys.path.insert(0, ''); import {module}",
        ],
        cwd=function,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "VERCEL_IPC_PATH": str(path)}
        | config["environment"]
        | env,
    )
    instance = Instance(popen)
    listener = threading.Thread(target=instance.listen, args=(server,))
    listener.start()
    try:
        if not instance.started.wait(START_S):
            raise TimeoutError(f"the bundle did not start: {instance.messages}")
        yield instance
    finally:
        popen.send_signal(signal.SIGTERM)
        popen.wait(20)
        listener.join(5)
