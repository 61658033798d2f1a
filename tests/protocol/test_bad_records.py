"""What is no record of ours is never run, never overwritten, always cried out, and stops no sweep.

Source: PROTOCOL §4 (last row), §9.
"""

import json
import logging
from typing import Any

import pytest
from upstash_redis.asyncio import Redis

from lib.contract import Principal
from lib.machinery.gate.decide import AGENT_KEY_ISSUER
from lib.machinery.runner.record import open_index, operation, store_key
from tests.harness.servers import client_of, in_process
from tests.harness.stack import CRON_SECRET, STORE_TOKEN, Stack
from tests.harness.wire import Mcp

NEW = {"name": "lamp", "quantity": 1, "idempotency_key": "k"}
ID = operation("production", Principal(issuer=AGENT_KEY_ISSUER, subject="writer"), "k").id
BAD: dict[str, list[str]] = {
    "a list": ["LPUSH", store_key(ID), "x"],
    "no JSON": ["SET", store_key(ID), "junk"],
    "an empty text": ["SET", store_key(ID), ""],
    "a newer version": ["SET", store_key(ID), json.dumps({"v": 2})],
}


def redis(stack: Stack) -> Any:  # its own annotations are partly unknown
    return Redis(stack.store_url, STORE_TOKEN, rest_retries=0)


async def stored(store: Any) -> Any:
    kind = await store.execute(["TYPE", store_key(ID)])
    look = ["LRANGE", store_key(ID), 0, -1] if kind == "list" else ["GET", store_key(ID)]
    return await store.execute(look)


@pytest.mark.parametrize("what", BAD)
async def test_it_is_neither_run_nor_overwritten_and_an_alarm_is_raised(
    stack: Stack, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with redis(stack) as store, client_of(in_process(stack.env())) as http:
        await store.execute(BAD[what])
        before = await stored(store)
        with caplog.at_level(logging.ERROR, "settle.runner"):
            told = await Mcp(http=http).settle("create_item", **NEW)
        known = await Mcp(http=http).call("get_operation", idempotency_key="k")
        assert await stored(store) == before
    assert (told["outcome"], told["side_effect"]) == ("store_unavailable", "unknown")
    assert [record.message for record in caplog.records if "unreadable" in record.message]
    assert "cannot be read" in known["content"][0]["text"]
    assert stack.items.effects().created == 0


async def test_one_bad_record_does_not_stop_the_sweeper(stack: Stack) -> None:
    async with redis(stack) as store, client_of(in_process(stack.env())) as http:
        await store.execute(BAD["a list"])
        gone = "f" * 64
        await store.execute(["ZADD", open_index("production"), 1, ID, 2, gone])
        bearer = {"Authorization": f"Bearer {CRON_SECRET}"}
        swept = (await http.get("/api/cron/reconcile", headers=bearer)).json()
        left = await store.execute(["ZRANGE", open_index("production"), 0, -1])
    assert swept == {"looked": 2, "settled": 0, "in_doubt": 1, "left": 0}
    assert left == [ID]
