"""Many distinct commands through a fleet under kills; then the sweeper, then the last retries.

A tenth of the callers give up when their server dies; what became of their commands is for the
sweeper to prove, and after it for the one who retries at last.
Source: PROTOCOL §1 (promises), §9 (the sweeper); the issue's "under load".
"""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.harness.kinds import KINDS, Kind, named, new_item
from tests.harness.stack import CRON_SECRET, Stack
from tests.load.fleet import Fleet

BY_TOOL = {kind.tool: kind for kind in KINDS}
MIX = ("create_item", "update_item", "attach_label")  # keyed, lookup, unique
REFUSED_EVERY = 50  # a label for an item that is not there
GIVES_UP_EVERY = 10
CALLERS = 24
TRIES = 25
SETTLES_S = 30.0  # enough for the longest lease and settle time on a busy machine


@dataclass(slots=True, kw_only=True)
class Job:
    """One command, and what its caller was told."""

    kind: Kind
    key: str
    arguments: dict[str, Any]
    gives_up: bool
    is_refusable: bool
    told: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    unanswered: int = 0

    @property
    def outcome(self) -> str:
        """The last thing that was told."""
        return self.told[-1]["outcome"] if self.told else "unanswered"

    @property
    def is_open(self) -> bool:
        """A retry was advised, or no answer came."""
        return not self.told or self.told[-1]["retry"]["advice"] == "same_key"


def jobs_of(stack: Stack, count: int) -> list[Job]:
    """Make distinct commands of the three classes that can be proved."""
    items = [new_item(stack, f"stock-{number}") for number in range(20)]
    return [_job(number, items[number % len(items)]) for number in range(count)]


def _job(number: int, item_id: str) -> Job:
    is_refusable = number % REFUSED_EVERY == REFUSED_EVERY - 1
    kind = BY_TOOL["attach_label" if is_refusable else MIX[number % len(MIX)]]
    key = f"job-{number}"
    return Job(
        kind=kind,
        key=key,
        arguments=kind.arguments("not-there" if is_refusable else item_id, key),
        gives_up=number % GIVES_UP_EVERY == 0,
        is_refusable=is_refusable,
    )


async def drill(fleet: Fleet, stack: Stack, jobs: list[Job], *, kill_every_s: float) -> Any:
    """Run the jobs under kills, sweep, retry what was given up; give the figures."""
    started, waiting = time.monotonic(), iter(jobs)

    async def caller() -> None:
        for job in waiting:
            await _pursue(fleet, job, until_definite=not job.gives_up)

    killer = asyncio.create_task(fleet.kill_every(kill_every_s))
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    seconds, fleet.is_over = time.monotonic() - started, True
    await killer
    given_up = [job for job in jobs if job.is_open]
    by_sweeper = await _swept(fleet, given_up)
    await asyncio.gather(*(_pursue(fleet, job, until_definite=True) for job in given_up))
    return figures(fleet, stack, jobs) | {
        "commands": len(jobs),
        "seconds": round(seconds, 1),
        "given_up": len(given_up),
        "settled_by_sweeper": by_sweeper,
    }


async def _pursue(fleet: Fleet, job: Job, *, until_definite: bool) -> None:
    for _ in range(TRIES):
        try:
            said = await fleet.mcp().settle(job.kind.tool, **job.arguments, idempotency_key=job.key)
        except httpx.TransportError as fault:
            job.unanswered += not isinstance(fault, httpx.ConnectError)
            if not until_definite:
                return
            await asyncio.sleep(0.05)
            continue
        job.told.append(said)
        if not job.is_open or (job.is_refusable and said["outcome"] == "in_doubt"):
            return
        await asyncio.sleep(said["retry"]["after_ms"] / 1000)


async def _swept(fleet: Fleet, given_up: list[Job]) -> int:
    """Sweep until every lease and settle time is over; count what can be asked and is settled."""
    until = time.monotonic() + SETTLES_S
    rests = [job for job in given_up if job.kind.backend == "lookup"]
    secret = {"Authorization": f"Bearer {CRON_SECRET}"}
    while True:
        http = fleet.mcp().http
        swept = (await http.get("/api/cron/reconcile", headers=secret)).json()
        known = [
            await fleet.mcp().settle("get_operation", idempotency_key=job.key) for job in rests
        ]
        open_ones = [each for each in known if each["outcome"] in {"in_progress", "in_doubt"}]
        if not open_ones and swept["left"] == 0:
            return len(rests)
        assert time.monotonic() < until, f"provable, and still open: {open_ones}"
        await asyncio.sleep(0.5)


def figures(fleet: Fleet, stack: Stack, jobs: list[Job]) -> dict[str, Any]:
    """Count what was done against what was told."""
    effects = Counter(each.under for each in stack.written)
    killed = [job for job in jobs if job.unanswered]
    plain = [job for job in killed if not job.is_refusable]
    definite = {
        backend: [not job.is_open for job in plain if job.kind.backend == backend]
        for backend in ("keyed", "unique", "lookup")
    }
    done = {job.key: effects[named(job.key).reference] for job in jobs}
    return {
        "kills": fleet.killed,
        "killed_calls": sum(job.unanswered for job in jobs),
        "killed_commands": len(killed),
        "definite": {name: f"{sum(ends)}/{len(ends)}" for name, ends in definite.items()},
        "refusals_under_doubt": sum(job.is_refusable and job.is_open for job in killed),
        "effects": sum(done.values()),
        "outcomes": dict(Counter(job.outcome for job in jobs)),
        "this_call": dict(Counter(job.told[-1]["this_call"] for job in jobs if job.told)),
        "doubled": [key for key, count in done.items() if count > 1],
        "lost": [job.key for job in jobs if done[job.key] != (job.outcome == "succeeded")],
        "open": [job.key for job in jobs if job.is_open and not job.is_refusable],
        "store_round_trips": len(stack.front.exchanges),
    }
