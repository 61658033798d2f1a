"""The three moves, tried on the real store with the real scripts and a record of their own.

Its key begins with `settle:1:doctor:`, its open index is that of an environment `:doctor`; both are
removed, and expire within a minute where the doctor is killed before.
Source: PROTOCOL §3.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from secrets import token_hex

import anyio

from lib.contract import OperationId, Principal
from lib.machinery.runner.record import Guarantee, Record, Seen, open_index, store_key
from lib.machinery.runner.store import Held, Store, Stored, StoreSilentError
from lib.ops.findings import Finding
from lib.ops.reach import reason_of

PREFIX = "settle:1:doctor:"
ENVIRONMENT = ":doctor"  # no platform calls one so
LEFT_MS = 60_000
WAIT_S = 0.1
PASSED_MS = 80  # of it, as far as the store must have noticed
ADVICE = {
    "store_script": "The database must run scripts (EVAL) on its primary, with declared keys, as"
    " lib/machinery/runner/*.lua do. Without them no command can be settled.",
    "store_pttl": "Records would not grow old here: use no store whose PTTL does not count down.",
    "store_pipeline": "The URL must be a REST address that also answers /pipeline.",
}


async def check_moves(store: Store) -> list[Finding]:
    """Claim a record, let it age, read it through a pipeline, replace and erase it."""
    tried = _Tried(
        store=replace(store, environment=ENVIRONMENT),
        operation_id=OperationId(f"doctor:{token_hex(16)}"),
        first=_record(),
    )
    try:
        return [
            await _finding("store_script", tried.script),
            await _finding("store_pttl", tried.ages),
            await _finding("store_pipeline", tried.pipeline),
        ]
    finally:
        with suppress(StoreSilentError):
            await tried.remove()


async def _finding(check: str, attempt: Callable[[], Awaitable[str]]) -> Finding:
    try:
        wrong = await attempt()
    except StoreSilentError as silence:
        wrong = f"no usable answer ({reason_of(silence)})"
    return (
        Finding(check, "failed", wrong, ADVICE[check]) if wrong else Finding(check, "ok", "works")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tried:
    """One scratch record. Each check says what went wrong, or nothing."""

    store: Store
    operation_id: OperationId
    first: Record

    async def script(self) -> str:
        claimed = await self.store.claim(self.operation_id, self.first)
        if not isinstance(claimed, Stored) or claimed.held is None:
            return "a first claim is not told that it is the first"
        await self._expire_index()
        twin = await self._claimed_again()
        if twin is None or twin.record != self.first:
            return "a second claim is not told of the first"
        doubt = replace(self.first, state="in_doubt")
        if isinstance(await self._swap(replace(twin, text="{}"), doubt), Stored):
            return "a record is replaced by one who has not seen it"
        if not isinstance(await self._swap(twin, doubt), Stored):
            return "a record is not replaced by one who has seen it"
        return ""

    async def ages(self) -> str:
        young = await self._claimed_again()
        await anyio.sleep(WAIT_S)
        old = await self._claimed_again()
        if young is None or old is None:
            return "not shown: no record is there to grow old"
        return "" if old.age_ms - young.age_ms >= PASSED_MS else "stands still"

    async def pipeline(self) -> str:
        read = await self.store.read(self.operation_id)
        return "" if isinstance(read, Seen) else "text and PTTL do not come back together"

    async def remove(self) -> None:
        key, index = store_key(self.operation_id), open_index(ENVIRONMENT)
        pipeline = self.store.redis.pipeline()
        pipeline.delete(key).zrem(index, self.operation_id)
        await self.store.bounded(pipeline.exec)

    async def _claimed_again(self) -> Seen | None:
        held = await self.store.claim(self.operation_id, _record())
        return held if isinstance(held, Seen) else None

    async def _swap(self, seen: Seen, record: Record) -> Stored | Held:
        return await self.store.swap(self.operation_id, seen=seen, record=record)

    async def _expire_index(self) -> None:
        command = ["PEXPIRE", open_index(ENVIRONMENT), LEFT_MS]
        await self.store.bounded(lambda: self.store.redis.execute(command))


def _record() -> Record:
    return Record(
        state="started",
        tool="doctor",
        backend=Guarantee(kind="none"),
        fingerprint="",
        reference="",
        principal=Principal(issuer="settle:doctor", subject=""),
        attempt=token_hex(16),
        ttl_ms=LEFT_MS,
        lease_ms=LEFT_MS,
        horizon_ms=LEFT_MS,
    )
