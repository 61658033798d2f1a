"""The three moves on the store; they take no decision.

Every move is safe to send twice: an attempt that lost the reply recognises its own record and
gets the same verdict as before. Each call is bounded, and the client's own retries are off.
Source: PROTOCOL §3; Upstash Redis REST API.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import batched
from pathlib import Path
from typing import Any, Protocol

from lib.contract import OperationId
from lib.machinery.runner.record import (
    Record,
    Seen,
    Unreadable,
    decode,
    encode,
    open_index,
    store_key,
)

TRIES = 2  # per move: the second finds out what became of the first
READS = 3  # until text and TTL belong together
UNSTEADY = Unreadable()  # this very one: replaced during the look

type Held = Seen | Unreadable | None
type Json = Any  # a reply of the store, checked where it is read


class StoreSilentError(Exception):
    """No usable reply within the time-out; the move may have been made."""


class WrongTypeError(StoreSilentError):
    """The store answers that something else stands at the record's key, or text that is none."""


class Redis(Protocol):
    """The part of a client that the moves need; `upstash_redis.asyncio.Redis` has it."""

    async def execute(self, command: list[Any]) -> Json:
        """Send one command to the primary."""

    def pipeline(self) -> Any:  # noqa: ANN401  the client's own pipeline type
        """Collect commands for one round trip."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The store holds what was written, or nothing where it was to be deleted."""

    held: Seen | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The records of one environment.

    now_ms: epoch ms of this function's clock; it orders the open index and decides nothing.
    """

    redis: Redis
    environment: str
    timeout_s: float
    now_ms: Callable[[], int]

    async def claim(self, operation_id: OperationId, record: Record) -> Stored | Held:
        """Store `record` if nothing is there.

        Returns: Stored; or what is there, which may be this very record from an earlier send.
        Raises:  StoreSilentError: `record` may be stored.
        """
        mine = Seen(record=record, text=encode(record), age_ms=0)
        args = [mine.text, record.ttl_ms, operation_id, self.now_ms() + record.lease_ms]
        return await self._move("claim", operation_id, args, mine)

    async def swap(
        self,
        operation_id: OperationId,
        *,
        seen: Seen | None,
        record: Record | None,
        is_timely: Callable[[], bool] = lambda: True,
    ) -> Stored | Held:
        """Replace `seen` by `record` in one atomic script; None stands for no record.

        Args:    is_timely: asked before each send whether the move may still be made.
        Returns: Stored, also when an earlier send stored it; or what is there instead.
        Raises:  StoreSilentError: the record may be replaced.
        """
        mine = record and Seen(record=record, text=encode(record), age_ms=0)
        before, text = ("" if each is None else each.text for each in (seen, mine))
        ttl_ms = 0 if record is None else record.ttl_ms
        args = [before, text, ttl_ms, operation_id, self._due_ms(record)]
        return await self._move("swap", operation_id, args, mine, is_timely)

    async def read(self, operation_id: OperationId) -> Held:
        """Look at a record without deciding a command by it; a replica may answer.

        Raises: StoreSilentError: no reply, or the record was replaced during each look.
        """
        for _ in range(READS):
            try:
                [held] = await self.read_many([operation_id])
            except WrongTypeError:
                return Unreadable()
            if held is not UNSTEADY:
                return held
        raise StoreSilentError("unsteady")

    async def read_many(self, operation_ids: Sequence[OperationId]) -> list[Held]:
        """Look at records once, in one trip; one that is replaced meanwhile is `UNSTEADY`.

        Raises: StoreSilentError: no reply.
        """
        pipeline = self.redis.pipeline()
        for key in map(store_key, operation_ids):
            # The second GET proves that text and TTL belong together.
            pipeline.get(key).pttl(key).get(key)
        replies: list[Any] = await self.bounded(pipeline.exec)
        return [_steady(*each) for each in batched(replies, 3)]

    async def due(self, limit: int) -> tuple[list[OperationId], int]:
        """List the open operations that fell due, oldest first, and count all of them.

        Raises: StoreSilentError: no reply.
        """
        index, now_ms = open_index(self.environment), self.now_ms()
        pipeline = self.redis.pipeline()
        pipeline.zrange(index, "-inf", now_ms, sortby="BYSCORE", offset=0, count=limit)
        pipeline.zcount(index, "-inf", now_ms)
        due, count = await self.bounded(pipeline.exec)
        return [OperationId(each) for each in due], count

    async def rescore(self, operation_id: OperationId, *, after_ms: int) -> None:
        """Let an open operation fall due again in `after_ms`; one that was settled stays off.

        Raises: StoreSilentError: it may be re-scored.
        """
        index, due_ms = open_index(self.environment), self.now_ms() + after_ms
        command = ["ZADD", index, "XX", due_ms, operation_id]
        await self.bounded(lambda: self.redis.execute(command))

    async def bounded(self, send: Callable[[], Any]) -> Json:
        """Await one exchange with the store; whatever goes wrong is silence.

        Raises: StoreSilentError: time-out, refused, unreadable: the client cannot tell them apart.
        """
        try:
            async with asyncio.timeout(self.timeout_s):
                return await send()
        except Exception as fault:  # the client raises KeyError, AttributeError, JSONDecodeError, …
            is_wrong = "WRONGTYPE" in str(fault) or isinstance(fault, UnicodeDecodeError)
            kind = WrongTypeError if is_wrong else StoreSilentError
            raise kind(type(fault).__name__) from fault

    async def _move(
        self,
        script: str,
        operation_id: OperationId,
        args: list[str | int],
        mine: Seen | None,
        is_timely: Callable[[], bool] = lambda: True,
    ) -> Stored | Held:
        keys = [store_key(operation_id), open_index(self.environment)]
        try:
            reply = await self._sent(["EVAL", _script(script), len(keys), *keys, *args], is_timely)
        except WrongTypeError:
            return Unreadable()
        match reply:
            case []:
                return Stored(mine)
            case ["", -2]:  # what PTTL says of no key
                return None
            case [str(text), int(pttl_ms)]:
                return decode(text, pttl_ms=pttl_ms)
            case _:
                raise StoreSilentError("unreadable")

    async def _sent(self, command: list[Any], is_timely: Callable[[], bool]) -> Json:
        silence = StoreSilentError("too_late")
        for _ in range(TRIES):
            if not is_timely():
                break
            try:
                return await self.bounded(lambda: self.redis.execute(command))
            except WrongTypeError:
                raise
            except StoreSilentError as fault:
                silence = fault
        raise silence

    def _due_ms(self, record: Record | None) -> int | str:
        if record is None or not record.is_open:
            return ""
        return self.now_ms() + (record.lease_ms if record.state == "started" else 0)


def _steady(text: str | None, pttl_ms: int, text_after: str | None) -> Held:
    if text_after is None:
        return None
    return decode(text_after, pttl_ms=pttl_ms) if text == text_after else UNSTEADY


@cache
def _script(name: str) -> str:
    return Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8")
