"""The store told the truth: the explorer's schedules, moved on the real engine, answer the same.

Source: PROTOCOL §10.3. Time is the record's TTL: to let it pass, the TTL is lowered.
"""

from hashlib import sha256

import pytest
from upstash_redis.asyncio import Redis

from lib.contract import OperationId
from lib.machinery.runner.record import Seen, encode, open_index, store_key
from lib.machinery.runner.store import Held, Store, Stored
from tests.harness.stack import STORE_TOKEN, Stack
from tests.proof.explorer.model import CLASSES
from tests.proof.explorer.search import Search
from tests.proof.explorer.settings import among
from tests.proof.explorer.traces import Told, traces

TRACES = 12  # a class, the longest among them
TOLERANCE_MS = 2_000  # real time that passes between two moves
ENVIRONMENT = "explorer"


@pytest.mark.parametrize("backend", CLASSES)
async def test_the_real_engine_gives_the_explorers_verdicts(backend: str, stack: Stack) -> None:
    search = Search(among(backend, attempts=2, sweeps=1 if backend == "lookup" else 0))
    assert not search.run(20_000).broken
    moves = 0
    async with Redis(stack.store_url, STORE_TOKEN, rest_retries=0) as redis:
        store = Store(redis=redis, environment=ENVIRONMENT, timeout_s=5, now_ms=lambda: 0)
        for number, schedule in enumerate(traces(search, TRACES)):
            name = OperationId(sha256(f"{backend}{number}".encode()).hexdigest())
            for step, told in enumerate(schedule):
                await agree(store, name, told, f"{backend} {number}.{step}")
            moves += len(schedule)
            await indexed_as_stored(store, name)
    assert moves > TRACES


async def agree(store: Store, name: OperationId, told: Told, where: str) -> None:
    match told.kind:
        case "age":
            left_ms = await store.redis.execute(["PTTL", store_key(name)])
            await store.redis.execute(["PEXPIRE", store_key(name), left_ms - told.ms])
            return
        case "lose":
            await store.redis.execute(["DEL", store_key(name)])
            return
        case "claim":
            assert told.new is not None
            answer = await store.claim(name, told.new)
        case "swap":
            seen = None if told.seen is None else as_seen(told)
            answer = await store.swap(name, seen=seen, record=told.new)
        case "read":
            answer = await store.read(name)
    assert isinstance(answer, Stored) is told.is_done, where
    if not isinstance(answer, Stored):
        same(answer, told, where)


def as_seen(told: Told) -> Seen:
    assert told.seen is not None
    return Seen(record=told.seen, text=encode(told.seen), age_ms=0)


def same(held: Held, told: Told, where: str) -> None:
    if told.there is None:
        assert held is None, where
        return
    assert isinstance(held, Seen), where
    assert held.record == told.there, where
    assert 0 <= held.age_ms - told.age_ms < TOLERANCE_MS, where


async def indexed_as_stored(store: Store, name: OperationId) -> None:
    held = await store.read(name)
    is_open = isinstance(held, Seen) and held.record.state in {"started", "in_doubt"}
    score = await store.redis.execute(["ZSCORE", open_index(ENVIRONMENT), name])
    assert is_open <= (score is not None), "an open record stands on the index"
    if isinstance(held, Seen) and not is_open:
        assert score is None, "a settled one does not"
