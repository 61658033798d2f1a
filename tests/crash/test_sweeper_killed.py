"""A sweeper killed half-way, and a killed command that only the sweeper ever comes back to.

Source: PROTOCOL §9: it may be killed anywhere, and it never sends a command.
"""

import asyncio
from typing import Any

import httpx
import pytest

from lib.dev.faulty import call
from lib.dev.store_faults import nth
from tests.harness.kinds import KINDS, named, new_item
from tests.harness.nursery import Nursery, Server
from tests.harness.seams import Stopped
from tests.harness.seeds import seeds_of
from tests.harness.servers import client_at
from tests.harness.stack import CRON_SECRET, Stack
from tests.harness.wire import Mcp

TARGET = "tests.harness.served:app"
# The victim stands at its stop until it is killed; what it holds is leased for 8.2 s. It has 2.5 s
# of them to get there: a sweep begins nothing that a time-out could take past its end.
VICTIM = {
    "MAX_DURATION_S": "8",
    "BACKEND_TIMEOUT_S": "5",
    "COMMIT_BUDGET_S": "0.5",
    "KILL_SLACK_S": "0.2",
}
UPDATE = next(kind for kind in KINDS if kind.backend == "lookup")


async def sweep(server: Server) -> dict[str, Any]:
    async with client_at(server.url, authorization=f"Bearer {CRON_SECRET}") as http:
        return (await http.get("/api/cron/reconcile")).json()


async def killed_at(server: Server, stop: Stopped, doing: Any) -> None:
    """Kill the server when something that it does stands at a stop."""
    task = asyncio.create_task(doing)
    assert await stop.stands()
    server.kill()
    stop.released.set()
    with pytest.raises(httpx.TransportError):
        await task
    assert server.was_killed


async def test_a_sweep_killed_half_way_is_finished_by_the_next_ones(
    stack: Stack, nursery: Nursery
) -> None:
    keys = [f"change {number}" for number in range(6)]
    item_id, stop = new_item(stack), Stopped(executes="first")
    stack.items.faults.plan(stop, on=nth(3, call("GET", "/operations")))
    async with seeds_of(stack) as seeds:
        for key in keys:
            await seeds.changed(key, item_id)
        with nursery.server(stack.env(**VICTIM), target=TARGET) as victim:
            await killed_at(victim, stop, sweep(victim))
        left = [record and record.state for key in keys if (record := await seeds.record(key))]
        assert left == ["committed"] * 2 + ["started"] * 4
        with nursery.server(stack.env(), target=TARGET) as heir:
            first = await sweep(heir)
            assert (first["looked"], first["settled"]) == (3, 3)  # one is leased to the dead
            await until_open_is_empty(heir)
        records = [await seeds.record(key) for key in keys]
        assert await seeds.open() == []
    assert [(each.state, each.epoch, each.conflicts) for each in records if each] == [
        ("committed", 3 if number == 2 else 2, 0) for number in range(6)
    ]
    assert {each.method for each in stack.items.faults.seen[1 + len(keys) :]} == {"GET"}


async def until_open_is_empty(server: Server) -> None:
    """Sweep until something more is settled: the last lease has ended."""
    async with asyncio.timeout(30):
        while (await sweep(server))["settled"] == 0:  # noqa: ASYNC110  a lease ends by itself
            await asyncio.sleep(0.2)


async def test_a_killed_update_is_settled_by_the_sweeper_alone(
    stack: Stack, nursery: Nursery
) -> None:
    item_id, stop, key = new_item(stack), Stopped(executes="first"), "killed"
    stack.items.faults.plan(stop, on=UPDATE.is_sent(key))
    with nursery.server(stack.env(**VICTIM), target=TARGET) as victim:
        async with client_at(victim.url) as http:
            arguments = {"item_id": item_id, "name": key, "idempotency_key": key}
            await killed_at(victim, stop, Mcp(http=http).settle("update_item", **arguments))
    with nursery.server(stack.env(), target=TARGET) as heir:
        await until_open_is_empty(heir)
        async with client_at(heir.url) as http:
            known = await Mcp(http=http).settle("get_operation", idempotency_key=key)
    assert (known["outcome"], known["attempts"], known["result"]["name"]) == ("succeeded", 2, key)
    seen = [each.method for each in stack.items.faults.seen if each.reference or "op" in each.path]
    assert seen == ["PATCH", "GET"]
    assert UPDATE.effects(stack, key) == 1
    assert known["operation_id"] == named(key).id
