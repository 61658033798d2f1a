"""The drill on demand: `python -m tests.load --full` prints its figures as JSON.

Exit status 1: something was lost, doubled, or left open though it could be proved.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lib.dev.engine import start_engine
from tests.harness.nursery import running_nursery
from tests.harness.stack import running_stack
from tests.load.drill import drill, jobs_of
from tests.load.fleet import running_fleet

FULL, BRIEF = 5_000, 300


def main() -> int:
    """Run one drill."""
    parser = argparse.ArgumentParser(prog="tests.load", description=__doc__)
    parser.add_argument("--full", action="store_true", help=f"{FULL} commands, not {BRIEF}")
    parser.add_argument("--seed", type=int, default=1, help="of the kills and of who is called")
    parser.add_argument("--kill-every", type=float, default=1.0, metavar="SECONDS")
    asked = parser.parse_args()
    started = time.monotonic()
    found = asyncio.run(_drill(FULL if asked.full else BRIEF, asked.seed, asked.kill_every))
    found |= {"seed": asked.seed, "seconds_in_all": round(time.monotonic() - started, 1)}
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 1 if found["doubled"] or found["lost"] or found["open"] else 0


async def _drill(count: int, seed: int, kill_every_s: float) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory() as folder,
        start_engine(Path(folder) / "engine") as engine,
        running_stack(engine, Path(folder)) as stack,
        running_nursery() as nursery,
    ):
        jobs = await asyncio.to_thread(jobs_of, stack, count)
        async with running_fleet(nursery, stack, seed=seed) as fleet:
            return await drill(fleet, stack, jobs, kill_every_s=kill_every_s)


if __name__ == "__main__":
    sys.exit(main())
