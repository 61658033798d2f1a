"""Kills a real server process at one seam with one command of every class standing there.

What was killed is then retried as its answers say, at another process on the same store, until
nothing more can be found out. Source: PROTOCOL §10.4.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import anyio
import httpx

from lib.dev.faulty import Match, call
from lib.dev.store_faults import nth
from tests.harness.kinds import KINDS, Class, Kind, moves, new_item
from tests.harness.nursery import Nursery, Server
from tests.harness.seams import Executes, Stopped
from tests.harness.servers import client_at
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

TARGET = "tests.harness.served:app"
# A victim stands at its seam without a time-out ending the stop; both leases end after 5.5 s.
VICTIM = {"BACKEND_TIMEOUT_S": "4", "STORE_TIMEOUT_S": "5"}
TIMES = {"MAX_DURATION_S": "5", "COMMIT_BUDGET_S": "0.5", "KILL_SLACK_S": "0.5"}
HEIR = {"BACKEND_TIMEOUT_S": "1"}
LANDS_S = 7.0  # after the lease's end, before the 5 s that update_item declares are over

type Expected = tuple[str, str, int]  # outcome, this_call, effects

DONE: Expected = ("succeeded", "executed", 1)
FOUND: Expected = ("succeeded", "recovered", 1)
TOLD: Expected = ("succeeded", "replayed", 1)
NOT_SENT: Expected = ("in_doubt", "not_executed", 0)
SENT: Expected = ("in_doubt", "not_executed", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """Where the process dies. nth: of the requests of one operation that are sent there.

    expects: how the last retry ends; `none` where the backend can neither deduplicate nor be asked.
    """

    name: str
    where: Literal["store", "backend", "answer"]
    executes: Executes
    expects: Expected
    none: Expected
    nth: int = 1
    lands_s: float = 0.0


SEAMS = (
    Seam(name="before_claim", where="store", executes="never", expects=DONE, none=DONE),
    Seam(name="claim_lands_late", where="store", executes="late", expects=FOUND, none=NOT_SENT),
    Seam(name="after_claim", where="store", executes="first", expects=FOUND, none=NOT_SENT),
    Seam(name="sent_and_lost", where="backend", executes="never", expects=FOUND, none=NOT_SENT),
    Seam(
        name="sent_lands_late",
        where="backend",
        executes="late",
        expects=FOUND,
        none=SENT,
        lands_s=LANDS_S,
    ),
    Seam(name="after_write", where="backend", executes="first", expects=FOUND, none=SENT),
    Seam(name="before_commit", where="store", executes="never", expects=FOUND, none=SENT, nth=2),
    Seam(name="commit_lands_late", where="store", executes="late", expects=TOLD, none=TOLD, nth=2),
    Seam(name="after_commit", where="store", executes="first", expects=TOLD, none=TOLD, nth=2),
    Seam(name="before_answer", where="answer", executes="never", expects=TOLD, none=TOLD),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One command at one seam; its key, which is also the text that it carries, is their name."""

    seam: Seam
    kind: Kind

    @property
    def key(self) -> str:
        """Name the cell."""
        return f"{self.seam.name}.{self.kind.tool}"

    @property
    def expects(self) -> Expected:
        """Tell how its last retry ends."""
        backend: Class = self.kind.backend
        return self.seam.none if backend == "none" else self.seam.expects


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What became of a killed command. told: each retry's envelope; again: after the last one."""

    told: list[dict[str, Any]]
    again: dict[str, Any]
    known: dict[str, Any]
    was_killed: bool
    was_answered: bool


CELLS = tuple(Cell(seam=seam, kind=kind) for seam in SEAMS for kind in KINDS)


async def killed_everywhere(nursery: Nursery, stack: Stack) -> Mapping[str, Story]:
    """Kill one process at each seam; retry every command at an heir; give each cell's story."""
    with nursery.server(stack.env(**TIMES, **HEIR), target=TARGET) as heir:
        async with client_at(heir.url) as http, asyncio.TaskGroup() as group:
            stories: dict[str, asyncio.Task[Story]] = {}
            for seam in SEAMS:
                victim = _Victim(nursery, stack, [cell for cell in CELLS if cell.seam == seam])
                await victim.run()
                stories |= {
                    cell.key: group.create_task(victim.story(cell, Mcp(http=http)))
                    for cell in victim.cells
                }
    return {key: task.result() for key, task in stories.items()}


class _Victim:
    def __init__(self, nursery: Nursery, stack: Stack, cells: list[Cell]) -> None:
        self.nursery, self.stack, self.cells = nursery, stack, cells
        self.items = {cell.key: new_item(stack, cell.key) for cell in cells}
        self.stops = {cell.key: Stopped(executes=cell.seam.executes) for cell in cells}
        self.was_killed = False
        self.answered: dict[str, dict[str, Any]] = {}

    async def run(self) -> None:
        env = self.stack.env(**TIMES, **VICTIM)
        with self.nursery.server(env, target=TARGET) as server:
            async with client_at(server.url) as http:
                await Mcp(http=http).result("tools/list")  # the first answer is a slow one
            async with asyncio.TaskGroup() as group:
                for cell in self.cells:
                    self._plan(cell)
                    group.create_task(self._call(server, cell))
                for key, stop in self.stops.items():
                    assert await stop.stands(), (key, self.answered.get(key))
                server.kill()
            self.was_killed = server.was_killed
        for cell in self.cells:
            lands = self.stops[cell.key].released.set
            asyncio.get_running_loop().call_later(cell.seam.lands_s, lands)

    def _plan(self, cell: Cell) -> None:
        plan, at = self.stack.items.faults.plan, cell.seam
        match: Match = call("GET", f"/gate/{cell.key}")
        if at.where == "store":
            plan, match = self.stack.store_faults.plan, nth(at.nth, moves(cell.key))
        elif at.where == "backend":
            match = nth(at.nth, cell.kind.is_sent(cell.key))
        plan(self.stops[cell.key], on=match)

    async def _call(self, server: Server, cell: Cell) -> None:
        gate = f"{self.stack.items_url}/gate/{cell.key}"
        held = {"x-test-hold": gate} if cell.seam.where == "answer" else {}
        async with client_at(server.url, **held) as http:
            try:
                self.answered[cell.key] = await self._agree(cell, Mcp(http=http))
            except httpx.TransportError:
                return

    async def _agree(self, cell: Cell, mcp: Mcp) -> dict[str, Any]:
        arguments = cell.kind.arguments(self.items[cell.key], cell.key)
        return await mcp.agree(cell.kind.tool, **arguments, idempotency_key=cell.key)

    async def story(self, cell: Cell, mcp: Mcp) -> Story:
        told: list[dict[str, Any]] = []
        with anyio.fail_after(30):
            while not told or told[-1]["retry"]["advice"] == "same_key":
                await anyio.sleep(told[-1]["retry"]["after_ms"] / 1000 if told else 0)
                told.append(await self._agree(cell, mcp))
        assert await asyncio.to_thread(self.stops[cell.key].over.wait, LANDS_S + 5)
        again = await self._agree(cell, mcp)
        known = await mcp.settle("get_operation", idempotency_key=cell.key)
        return Story(
            told=told,
            again=again,
            known=known,
            was_killed=self.was_killed,
            was_answered=cell.key in self.answered,
        )
