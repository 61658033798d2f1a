"""Measure this server against the bare SDK and against a peer, in one alternating run.

`uv run --group peers python -m tests.bench [--quick] [--json FILE] [--docs]`. Linux. The least of n
is reported, of CPU where it can be: other work on the machine adds, and never takes away. With
`--docs` the figures of docs/PERFORMANCE.md and README.md are written anew, and the plot.
"""

import argparse
import json
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lib.dev.engine import start_engine
from tests.bench.asgi import body_of, headers_of
from tests.bench.cold import Start, Started, cold_start, raw
from tests.bench.deployed import linked, own_requirements, sizes
from tests.bench.growth import growth
from tests.bench.lanes import spread
from tests.bench.report import brief_table, growth_tables, plot, table
from tests.bench.rows import rows
from tests.bench.warm import warm
from tests.harness.servers import ROOT
from tests.harness.stack import Stack, running_stack

PAGE = ROOT / "docs" / "PERFORMANCE.md"
README = ROOT / "README.md"
PLOT = ROOT / "docs" / "performance.svg"
PARTS = re.compile(r"(<!-- (table|brief|growth|machine|bundle) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Measure, and write down."""
    parser = argparse.ArgumentParser(prog="tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples, a shorter long run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    parser.add_argument("--docs", action="store_true", help="write docs/PERFORMANCE.md anew")
    asked = parser.parse_args()
    began = time.monotonic()
    found = measured(is_quick=asked.quick)
    found |= {"rows": [row.plain() for row in rows(found)]}
    found["machine"]["seconds"] = round(time.monotonic() - began)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2) + "\n")
    if asked.docs:
        write_docs(found)
    sys.stdout.write(f"{table(rows(found))}\n\n{growth_tables(found['growth'])}\n")
    return 0


def measured(*, is_quick: bool) -> dict[str, Any]:
    """Measure everything once, in turn."""
    has_peer = _version("fastmcp") is not None
    with _parts() as (stack, folder):
        env = _environment(stack)
        starts = _starts(env, folder, has_peer=has_peer)
        return {
            "machine": _machine(),
            "bundle": sizes(),
            "cold": _cold(starts, folder / "bytecode", rounds=4 if is_quick else 15),
            "warm": warm(stack, env, rounds=4 if is_quick else 15, has_peer=has_peer),
            "growth": growth(
                stack,
                env,
                calls=512 if is_quick else 2048,
                long_run=5_000 if is_quick else 100_000,
            ),
        }


def write_docs(found: dict[str, Any]) -> None:
    """Put the figures between the marks of the page, and draw its plot."""
    bundle = "\n".join(f"| {name} | {size / 2**20:.1f} |" for name, size in found["bundle"].items())
    machine = ", ".join(f"{name} {value}" for name, value in found["machine"].items())
    parts = {
        "table": table(rows(found)),
        "brief": brief_table(rows(found)),
        "growth": growth_tables(found["growth"]),
        "machine": machine,
        "bundle": f"| package | MB |\n|---|---|\n{bundle}",
    }
    for page in (PAGE, README):
        written = PARTS.sub(lambda at: f"{at[1]}\n{parts[at[2]]}\n\n{at[3]}", page.read_text())
        page.write_text(written)
    PLOT.write_text(plot(found["growth"]["calls_at_once"]))


@contextmanager
def _parts() -> Generator[tuple[Stack, Path]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "engine").mkdir()
        with start_engine(folder / "engine") as engine, running_stack(engine, folder) as stack:
            yield stack, folder


def _environment(stack: Stack) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}  # noqa: TID251
    # VERCEL keeps a stray .env out.
    return {**inherited, "VERCEL": "1", **stack.env(MAX_DURATION_S="30", STORE_TIMEOUT_S="5")}


def _starts(env: dict[str, str], folder: Path, *, has_peer: bool) -> dict[str, Start]:
    deployed = linked(folder / "deployed", [*own_requirements(), "uvicorn"])
    body = body_of("tools/list")
    listing = raw("POST", "/mcp", headers_of("tools/list", body), body)
    here = {"host": "127.0.0.1"}
    stranger = {**here, "content-length": "0"}
    ours = {
        "settle": (listing, 200),
        "/healthz": (raw("GET", "/healthz", here), 200),
        "/": (raw("GET", "/", here), 200),
        "401": (raw("POST", "/mcp", stranger), 401),
    }
    starts = {
        name: Start(target="api.index:app", packages=deployed, request=ask, status=status, env=env)
        for name, (ask, status) in ours.items()
    }
    others = {"bare": ("tests.bench.bare:app", deployed)}
    if has_peer:
        peer = linked(folder / "peer", ["fastmcp", "uvicorn"])
        others["peer"] = ("tests.bench.peer:app", peer)
    for name, (target, packages) in others.items():
        starts[name] = Start(target=target, packages=packages, request=listing, status=200, env=env)
    return starts


def _cold(starts: dict[str, Start], bytecode: Path, *, rounds: int) -> dict[str, Any]:
    taken: dict[str, list[Started]] = {name: [] for name in starts}
    for number in range(rounds + 1):
        for name, start in starts.items():
            started = cold_start(start, bytecode)
            if number:  # the first one compiles
                taken[name].append(started)
    units = ("cpu_ms", "wall_ms", "peak_mb")
    return {
        name: {unit: spread([getattr(each, unit) for each in found]) for unit in units}
        for name, found in taken.items()
    }


def _machine() -> dict[str, Any]:
    names = ("mcp", "starlette", "fastmcp", "pydantic", "uvicorn")
    return {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        **{name: _version(name) for name in names},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
