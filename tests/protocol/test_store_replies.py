"""Replies of a store that no script of ours gives, and reads that raced a write.

Source: PROTOCOL §3 (the moves), §4 (unreadable: never overwritten, never run).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import pytest

from lib.contract import OperationId
from lib.machinery.runner.record import Guarantee, Record, Seen, Unreadable, encode
from lib.machinery.runner.store import READS, Held, Store, Stored, StoreSilentError
from tests.harness.kinds import WRITER

ID = OperationId("0" * 64)


@dataclass(slots=True)
class Scripted:
    """A store that answers what it was told to, one reply after the other."""

    replies: list[Any]
    asked: list[Sequence[Any]] = field(default_factory=list[Sequence[Any]])

    async def execute(self, command: list[Any]) -> Any:
        self.asked.append(command)
        return self.replies.pop(0)

    def pipeline(self) -> Self:
        return self

    def get(self, _: str) -> Self:
        return self

    def pttl(self, _: str) -> Self:
        return self

    async def exec(self) -> Any:
        return await self.execute([])


def record(attempt: str) -> Record:
    return Record(
        state="started",
        tool="create_item",
        backend=Guarantee(kind="none"),
        fingerprint="f",
        reference="r",
        principal=WRITER,
        attempt=attempt,
        lease_ms=10,
        horizon_ms=10,
    )


ONE, TWO = encode(record("one")), encode(record("two"))
TTL = record("one").ttl_ms


def store(*replies: Any) -> tuple[Store, Scripted]:
    redis = Scripted(list(replies))
    return Store(redis=redis, environment="production", timeout_s=1, now_ms=lambda: 0), redis


async def test_a_read_that_raced_a_write_looks_again() -> None:
    found, redis = store([ONE, TTL, TWO], [TWO, TTL - 5, TWO])
    held = await found.read(ID)
    assert held == Seen(record=record("two"), text=TWO, age_ms=5)
    assert len(redis.asked) == 2


async def test_a_record_replaced_during_every_look_is_silence_and_not_unreadable() -> None:
    found, _ = store(*[[ONE, TTL, TWO]] * READS)
    with pytest.raises(StoreSilentError):
        await found.read(ID)


async def test_a_record_that_went_during_the_look_is_none() -> None:
    found, _ = store([ONE, TTL, None])
    assert await found.read(ID) is None


@pytest.mark.parametrize("reply", [None, "", 0, "OK", 1, {}, [ONE], [ONE, "9"], [None, 1]])
async def test_a_reply_that_no_script_gives_is_silence(reply: Any) -> None:
    found, _ = store(reply)
    with pytest.raises(StoreSilentError):
        await found.claim(ID, record("one"))


@pytest.mark.parametrize(
    ("reply", "held"),
    [
        ([], Stored(Seen(record=record("one"), text=ONE, age_ms=0))),
        ([TWO, TTL - 7], Seen(record=record("two"), text=TWO, age_ms=7)),
        ([TWO, -1], Unreadable()),
        ([TWO, TTL + 1], Unreadable()),
        (["x", 1], Unreadable()),
        (["", -2], None),
    ],
)
async def test_a_move_tells_what_is_there(reply: Any, held: Stored | Held) -> None:
    found, _ = store(reply)
    assert await found.swap(ID, seen=None, record=record("one")) == held
