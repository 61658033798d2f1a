"""The operator's commands as a person runs them, and a store whose clock can be moved on."""

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import Any

import httpx

from tests.harness.nursery import plain, standing
from tests.harness.servers import ROOT
from tests.harness.stack import STORE_TOKEN, Stack

LIMIT_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> dict[str, Any]:
        """Read its JSON."""
        return json.loads(self.out)


def ops(env: dict[str, str], *arguments: str) -> Ran:
    """Run `python -m lib.ops` in a process of its own, and wait for its end."""
    given = {**plain(), "VERCEL": "1", **env}  # so that no .env is read
    with Path(os.devnull).open() as nothing, TemporaryFile("w+") as err:
        end, out = os.pipe()
        with os.fdopen(end) as said:
            streams = (nothing.fileno(), out, err.fileno())
            child = standing().run("lib.ops", *arguments, env=given, streams=streams)
            os.close(out)
            too_late = Timer(LIMIT_S, child.signal, [signal.SIGKILL])
            too_late.start()
            text = said.read()  # to the end, which is the process's own
            too_late.cancel()
        code = child.wait()
        err.seek(0)
        return Ran(code=code, out=text, err=err.read())


def ops_by_the_readme(env: dict[str, str], *arguments: str) -> Ran:
    """Run `uv run -m lib.ops` as the README says, cold; no other name of ours is inherited."""
    ran = subprocess.run(  # noqa: S603  the documented command
        ["uv", "run", "--no-sync", "-m", "lib.ops", *arguments],  # noqa: S607  the one on PATH
        cwd=ROOT,
        env={**plain(), "VERCEL": "1", **env},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return Ran(code=ran.returncode, out=ran.stdout, err=ran.stderr)


def ask_store(stack: Stack, *command: str | int) -> Any:
    """Send one command to the store, past everything under test."""
    headers = {"Authorization": f"Bearer {STORE_TOKEN}"}
    answer = httpx.post(stack.store_url, headers=headers, json=list(command))
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def let_age(stack: Stack, operation_id: str, seconds: float) -> None:
    """Make a record older by the store's clock, which is the only one that counts."""
    key = f"settle:1:{operation_id}"
    left_ms = ask_store(stack, "PTTL", key)
    assert ask_store(stack, "PEXPIRE", key, left_ms - int(seconds * 1000)) == 1


def open_ids(stack: Stack, environment: str = "production") -> list[str]:
    """List what the open index holds."""
    return ask_store(stack, "ZRANGE", f"settle:1:open:{environment}", 0, -1)
