"""One command of every class at once through a wire that loses something, and its retries."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any

import anyio
import httpx
from starlette.applications import Starlette

from lib.settings import Settings
from tests.harness.kinds import KINDS, Kind, new_item
from tests.harness.servers import client_of, in_process, settings_of
from tests.harness.stack import Stack
from tests.harness.unique import every_class
from tests.harness.wire import Mcp

SETTLES = timedelta(milliseconds=1500)
CREWS = count(1)  # so that no two tests on one items service share a reference
# For tests that wait until a lease ends, or a time-out: a lease is 6.2 s, and 4.5 s of it can send.
EXPIRING = {
    "MAX_DURATION_S": "6",
    "BACKEND_TIMEOUT_S": "3",
    "COMMIT_BUDGET_S": "0.5",
    "KILL_SLACK_S": "0.2",
}
LIMIT_S = 60


def every_class_in_process(stack: Stack, **env: str) -> Starlette:
    """Build the application with a command of every class; `update_item` settles in 1.5 s.

    Args: env: an empty text unsets a name.
    """
    given = {name: text for name, text in stack.env(**env).items() if text}
    settings = settings_of(given)
    assert isinstance(settings, Settings)
    return in_process(given, tools=every_class(settings, settle_time=SETTLES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One command's envelopes: the first call's, then each retry's."""

    kind: Kind
    key: str
    envelopes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def first(self) -> dict[str, Any]:
        """What the first call was told."""
        return self.envelopes[0]

    @property
    def last(self) -> dict[str, Any]:
        """What the last call was told."""
        return self.envelopes[-1]


class Callers:
    """One caller per kind, each with a key and an item of its own."""

    def __init__(
        self, stack: Stack, http: httpx.AsyncClient, *, kinds: Sequence[Kind] = KINDS
    ) -> None:
        """Put the items into place."""
        self.stack, self._mcp = stack, Mcp(http=http)
        crew = next(CREWS)
        self.told = {kind.tool: Told(kind=kind, key=f"{kind.tool}-{crew}") for kind in kinds}
        self._items = {tool: new_item(stack, told.key) for tool, told in self.told.items()}

    async def call(self) -> Mapping[str, Told]:
        """Call each command once, all at once."""
        async with asyncio.TaskGroup() as group:  # which waits for all, also where it is cancelled
            for told in self.told.values():
                group.create_task(self._call(told))
        return self.told

    async def call_until_definite(self) -> Mapping[str, Told]:
        """Call as each answer says, until no retry can find out more."""
        await asyncio.gather(*(self._until_definite(told) for told in self.told.values()))
        return self.told

    def effects(self) -> dict[str, int]:
        """Count each command's effects."""
        return {tool: told.kind.effects(self.stack, told.key) for tool, told in self.told.items()}

    async def _call(self, told: Told) -> None:
        kind = told.kind
        arguments = kind.arguments(self._items[kind.tool], told.key)
        said = await self._mcp.agree(kind.tool, **arguments, idempotency_key=told.key)
        told.envelopes.append(said)

    async def _until_definite(self, told: Told) -> None:
        with anyio.fail_after(LIMIT_S):
            while not told.envelopes or told.last["retry"]["advice"] == "same_key":
                if told.envelopes:
                    await anyio.sleep(told.last["retry"]["after_ms"] / 1000)
                await self._call(told)


def lossy_client(stack: Stack, **env: str) -> httpx.AsyncClient:
    """Speak HTTP to an application in this process that has a command of every class."""
    return client_of(every_class_in_process(stack, **env))
