"""Records put straight into the store, as attempts that died or gave up would have left them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio
from pydantic import BaseModel
from upstash_redis.asyncio import Redis

from lib.machinery.runner.fingerprint import fingerprint
from lib.machinery.runner.record import Guarantee, Record, Seen, open_index
from lib.machinery.runner.store import Store, Stored
from lib.tools.items import UpdateItem
from tests.harness.kinds import WRITER, named
from tests.harness.servers import client_at
from tests.harness.stack import STORE_TOKEN, WRITE_TOKEN, Stack

INDEX = open_index("production")
UNASKABLE = Guarantee(kind="none")
LOOKUP = Guarantee(kind="lookup", can_ask=True, settle_ms=100)


class NoArguments(BaseModel):
    """Where nobody compares them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeds:
    """The store's records, past every server."""

    stack: Stack
    redis: Redis
    store: Store

    async def begun(
        self,
        key: str,
        backend: Guarantee,
        *,
        arguments: BaseModel | None = None,
        lease_ms: int = 1,
        tool: str = "update_item",
    ) -> Record:
        """Put down a first claim; its lease is over at once where none is given."""
        name = named(key)
        record = Record(
            state="started",
            tool=tool,
            backend=backend,
            fingerprint=fingerprint(tool, arguments or NoArguments()),
            reference=name.reference,
            principal=WRITER,
            attempt=f"attempt-{key}",
            lease_ms=lease_ms,
            horizon_ms=lease_ms + backend.settle_ms,
        )
        assert isinstance(await self.store.claim(name.id, record), Stored)
        await anyio.sleep(0.002)  # so that two are not due in the same millisecond
        return record

    async def changed(self, key: str, item_id: str) -> None:
        """Put down a claim of `update_item` whose change the backend has."""
        change = UpdateItem(item_id=item_id, name=key)
        await self.begun(key, LOOKUP, arguments=change)
        async with client_at(self.stack.items_url, authorization=f"Bearer {WRITE_TOKEN}") as http:
            under = {"X-Reference": named(key).reference}
            answer = await http.patch(f"/items/{item_id}", json={"name": key}, headers=under)
        assert answer.is_success

    async def record(self, key: str) -> Record | None:
        """Read one record."""
        held = await self.store.read(named(key).id)
        return held.record if isinstance(held, Seen) else None

    async def open(self) -> list[str]:
        """List the open index, the first due first."""
        return [str(member) for member in await self.redis.zrange(INDEX, 0, -1)]

    async def due_ms(self, key: str) -> float | None:
        """Tell when an open operation falls due."""
        return await self.redis.zscore(INDEX, named(key).id)

    async def make_due(self, member: str, at_ms: int = 1) -> None:
        """Put a member into the open index, or move it."""
        await self.redis.zadd(INDEX, {member: at_ms})


@asynccontextmanager
async def seeds_of(stack: Stack) -> AsyncGenerator[Seeds]:
    """Reach a stack's store."""
    async with Redis(url=stack.store_url, token=STORE_TOKEN, rest_retries=0) as redis:
        store = Store(redis=redis, environment="production", timeout_s=5, now_ms=now_ms)
        yield Seeds(stack=stack, redis=redis, store=store)


def now_ms() -> int:
    """Tell the time as servers do."""
    return int(datetime.now(UTC).timestamp() * 1000)
