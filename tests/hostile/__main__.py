"""Try many hostile cases: `uv run python -m tests.hostile --cases 10000`."""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from lib.dev.engine import start_engine
from tests.harness.servers import running_server
from tests.harness.stack import running_stack
from tests.hostile.cases import make
from tests.hostile.run import Report, is_well, run

BATCH = 250


def main() -> int:
    """Run what was asked for; 1 where any case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="repeat one case, and show what it sends")
    asked = parser.parse_args()
    if asked.only is not None:
        print(make(asked.seed, asked.only).wire()[:3_000])  # noqa: T201  what was asked for
    numbers = range(asked.cases) if asked.only is None else [asked.only]
    began = time.monotonic()
    report = _against_a_server(asked.seed, list(numbers))
    spent_s = time.monotonic() - began
    print("\n".join(report.failed[:40]))  # noqa: T201  a report for a person
    print(f"{len(numbers)} cases in {spent_s:.0f} s, {len(report.failed)} failed")  # noqa: T201
    print(dict(sorted(report.statuses.items())))  # noqa: T201
    return 1 if report.failed else 0


def _against_a_server(seed: int, numbers: list[int]) -> Report:
    whole = Report()
    with (
        tempfile.TemporaryDirectory() as folder,
        start_engine(Path(folder, "engine")) as engine,
        running_stack(engine, Path(folder)) as stack,
        running_server(stack.env()) as process,
    ):
        for at in range(0, len(numbers), BATCH):
            part = asyncio.run(run(process.url, seed=seed, numbers=numbers[at : at + BATCH]))
            whole.statuses += part.statuses
            whole.failed += part.failed
            if not asyncio.run(is_well(process.url)):
                whole.failed.append(f"no correct answer after case {at + BATCH}")
                break
    return whole


if __name__ == "__main__":
    sys.exit(main())
