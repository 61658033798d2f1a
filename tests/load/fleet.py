"""Three server processes on one store, of which one after the other is killed."""

import asyncio
import random  # noqa: TID251  seeded, so that a run can be repeated
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from tests.harness.nursery import Nursery, Server
from tests.harness.servers import client_at
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

SIZE = 3
TIMES = {
    "MAX_DURATION_S": "4",
    "BACKEND_TIMEOUT_S": "1.5",
    "COMMIT_BUDGET_S": "0.5",
    "KILL_SLACK_S": "0.2",
    "TEST_SETTLES_S": "1",
}


@dataclass(slots=True)
class Berth:
    """One place in the fleet: the server that is there now, and how to speak to it."""

    server: Server
    http: httpx.AsyncClient


@dataclass(slots=True)
class Fleet:
    """Servers that callers reach by turns. killed: each one's death was seen as a SIGKILL."""

    nursery: Nursery
    env: dict[str, str]
    dice: random.Random
    berths: list[Berth] = field(default_factory=list[Berth])
    gone: list[httpx.AsyncClient] = field(default_factory=list[httpx.AsyncClient])
    killed: int = 0
    is_over: bool = False

    def launch(self) -> Berth:
        """Start a server; it is answering when its first caller is answered."""
        server = self.nursery.start(self.env, target="tests.harness.served:app")
        return Berth(server, client_at(server.url))

    def mcp(self) -> Mcp:
        """Reach one of the servers, by chance."""
        return Mcp(http=self.dice.choice(self.berths).http)

    async def kill_one(self) -> None:
        """Kill one of them, by chance, and put another in its place."""
        place = self.dice.randrange(len(self.berths))
        victim = self.berths[place]
        await asyncio.to_thread(victim.server.kill)
        assert victim.server.was_killed
        self.killed += 1
        self.gone.append(victim.http)
        self.berths[place] = await asyncio.to_thread(self.launch)

    async def kill_every(self, seconds: float) -> None:
        """Kill one after the other until it is over; never before all of them answer again."""
        while not self.is_over:
            await asyncio.gather(asyncio.sleep(seconds), self.answer())
            await self.kill_one()

    async def answer(self) -> None:
        """Wait until every server has answered."""
        for berth in self.berths:
            await Mcp(http=berth.http).result("tools/list")


@asynccontextmanager
async def running_fleet(nursery: Nursery, stack: Stack, *, seed: int) -> AsyncGenerator[Fleet]:
    """Run a fleet that has answered once."""
    fleet = Fleet(nursery, stack.env(**TIMES), random.Random(seed))  # noqa: S311  no secret
    fleet.berths += [fleet.launch() for _ in range(SIZE)]
    try:
        await fleet.answer()
        yield fleet
    finally:
        for berth in fleet.berths:
            fleet.gone.append(berth.http)
            berth.server.kill()
        for http in fleet.gone:
            await http.aclose()
