"""The operator's commands as a person runs them, and a store whose clock can be moved on."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import httpx

from lib.settings import Settings
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
    """Run `python -m lib.ops`, and wait for its end."""
    inherited = os.environ.items()  # noqa: TID251  a child process inherits PATH and its like
    base = {name: value for name, value in inherited if name.lower() not in Settings.model_fields}
    ran = subprocess.run(  # noqa: S603  our own interpreter and arguments
        [sys.executable, "-m", "lib.ops", *arguments],
        cwd=ROOT,
        env={**base, "VERCEL": "1", **env},  # so that no .env is read
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
