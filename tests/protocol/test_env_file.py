"""Where `.env` is read: off Vercel only, in a real process whose folder holds one."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.harness.settings import FULL

ROOT = Path(__file__).parents[2]
READ = """
import json, os, sys
from lib.settings import read_settings
base = dict(os.environ)
for more in json.loads(sys.argv[1]):
    os.environ.clear()
    os.environ.update({**base, **more})
    settings = read_settings()
    print(type(settings).__name__, getattr(settings, "backend_url", None))
"""


def read_in(folder: Path, *environments: dict[str, str]) -> list[list[str]]:
    """Read each environment in one process that was started in `folder`."""
    base = {"PATH": os.defpath, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", READ, json.dumps(environments)]
    done = subprocess.run(  # noqa: S603  our own interpreter and script
        command, cwd=folder, env=base, capture_output=True, text=True, check=True, timeout=30
    )
    return [line.split() for line in done.stdout.splitlines()]


def test_a_file_counts_off_vercel_only_and_the_environment_before_it(tmp_path: Path) -> None:
    lines = {**FULL, "BACKEND_URL": "https://file.example", "CRON_SECRET": ""}
    text = "".join(f"{name}='{value}'\n" for name, value in lines.items())
    (tmp_path / ".env").write_text(text, encoding="utf-8")
    told = read_in(
        tmp_path,
        {},
        {"VERCEL": ""},
        {"VERCEL": "1"},
        {"VERCEL": "1", "VERCEL_ENV": "preview"},
        {"BACKEND_URL": "https://environment.example"},
        {"BACKEND_URL": ""},
    )
    assert told == [
        ["Settings", "https://file.example"],
        ["Settings", "https://file.example"],
        ["Misconfigured", "None"],
        ["Misconfigured", "None"],
        ["Settings", "https://environment.example"],
        ["Settings", "https://file.example"],
    ]
