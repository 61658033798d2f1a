"""A notice whose server dies, or waits, between the backend's write and the commit.

Its backend class is none, so that only a person can find out what became of it.
"""

import asyncio
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx

from lib.dev.faults import Held
from lib.dev.faulty import call
from tests.harness.nursery import Server, standing
from tests.harness.operator import Ran, open_ids, ops
from tests.harness.servers import client_of, in_process
from tests.harness.stack import WRITE_TOKEN, Stack
from tests.harness.wire import Mcp

LEASE_S, SETTLE_S = 35, 60  # MAX_DURATION_S + KILL_SLACK_S below; what class none declares
LONG = {"MAX_DURATION_S": "30", "BACKEND_TIMEOUT_S": "20", "KILL_SLACK_S": "5"}


def make_item(stack: Stack) -> str:
    headers = {"Authorization": f"Bearer {WRITE_TOKEN}", "Idempotency-Key": "made-for-a-test"}
    body = {"name": "lamp", "quantity": 1}
    return httpx.post(f"{stack.items_url}/items", headers=headers, json=body).json()["id"]


async def notify(http: httpx.AsyncClient, item_id: str) -> dict[str, Any]:
    notice = {"item_id": item_id, "message": "It is back.", "idempotency_key": "n"}
    return await Mcp(http=http).settle("send_notice", **notice)


async def retry(stack: Stack, item_id: str) -> dict[str, Any]:
    async with client_of(in_process(stack.env(**LONG))) as http:
        return await notify(http, item_id)


async def call_server(url: str, item_id: str) -> dict[str, Any] | None:
    async with httpx.AsyncClient(base_url=url, timeout=30) as http:
        try:
            return await notify(http, item_id)
        except httpx.TransportError:
            return None


type Calling = Future[dict[str, Any] | None]


@contextmanager
def sent_notice(stack: Stack, item_id: str) -> Generator[tuple[Server, Calling, threading.Event]]:
    """Have a real server send a notice whose answer waits: it is delivered, and not committed."""
    answers = threading.Event()
    stack.items.faults.plan(Held("after", answers), on=call("POST", "/notices"))
    with standing().server(stack.env(**LONG)) as process, ThreadPoolExecutor(1) as pool:
        try:
            calling = pool.submit(lambda: asyncio.run(call_server(process.url, item_id)))
            until = time.monotonic() + 5
            while stack.items.effects().notices == 0 and time.monotonic() < until:
                time.sleep(0.01)
            assert stack.items.effects().notices == 1
            yield process, calling, answers
        finally:
            answers.set()


def die(stack: Stack, item_id: str) -> str:
    """Kill a server between the backend's write and the commit; give the operation."""
    with sent_notice(stack, item_id) as (process, calling, _):
        process.kill()
        assert process.was_killed
        assert calling.result(5) is None
    (operation_id,) = open_ids(stack)
    return operation_id


def resolve(stack: Stack, operation_id: str, word: str = "--occurred") -> Ran:
    env = stack.env(**LONG, STORE_TIMEOUT_S="10")
    return ops(env, "resolve", operation_id, word, "--reason", "Seen in the outbox", "--json")
