"""What is told of an answer that came late, and of moves that nobody confirmed.

Source: PROTOCOL §4 (the first answer stays), §8 (`this_call`), §9 (what is not kept).
"""

from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from lib.contract import NotExecutedError
from lib.dev.faults import ResetBefore
from lib.machinery.runner.evidence import NOT_KEPT
from lib.machinery.runner.record import Seen
from lib.machinery.runner.store import Stored
from lib.tools.items import UpdateItem
from tests.harness.adapters import Does, Done, command, raising
from tests.harness.kinds import between, named, new_item
from tests.harness.seeds import LOOKUP, Seeds, seeds_of
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

LARGE, OTHER = "1" * 70_000, "2" * 70_000


def overtaken(seeds: Seeds, first: str) -> Does:
    """Answer LARGE, but after another attempt had committed the answer `first`."""

    async def does(*_: Any) -> Done:
        seen = await seeds.store.read(named("k").id)
        assert isinstance(seen, Seen)
        digest = sha256(f'{{"id":"{first}"}}'.encode()).hexdigest()
        done = replace(seen.record, state="committed", digest=digest, fault=NOT_KEPT, ttl_ms=60_000)
        moved = await seeds.store.swap(named("k").id, seen=seen, record=done)
        assert isinstance(moved, Stored)
        return Done(id=LARGE)

    return does


@pytest.mark.parametrize("first", [LARGE, OTHER], ids=["the same", "another"])
async def test_a_late_owner_is_told_the_first_answer_also_where_none_was_kept(
    shared_stack: Stack, first: str
) -> None:
    async with seeds_of(shared_stack) as seeds:
        app = in_process(shared_stack.env(), tools=[command(overtaken(seeds, first))])
        async with client_of(app) as http:
            said = await Mcp(http=http).settle("send_thing", idempotency_key="k")
        record = await seeds.record("k")
    told = (said["result"], said["error"] and said["error"]["code"])
    is_same = first == LARGE
    assert told == (({"id": LARGE}, None) if is_same else (None, "answer_not_kept"))
    assert (said["outcome"], said["this_call"]) == ("succeeded", "executed")
    assert record is not None
    assert record.conflicts == (0 if is_same else 1)


@pytest.mark.parametrize("was_sent", [True, False])
async def test_a_release_that_nobody_confirmed_says_whether_it_was_sent(
    shared_stack: Stack, *, was_sent: bool
) -> None:
    tool = command(raising(NotExecutedError("busy", "Busy.", after_ms=0)))
    end_s = None if was_sent else 0.0  # of the platform, long ago: no time to send
    app = in_process(shared_stack.env(), tools=[tool], platform_end=lambda: end_s)
    shared_stack.store_faults.plan(ResetBefore(), on=between("k", 2, 3), count=None)
    async with client_of(app) as http:
        said = await Mcp(http=http).settle("send_thing", idempotency_key="k")
    assert said["outcome"] == "in_doubt"
    assert said["this_call"] == ("executed" if was_sent else "not_executed")


async def test_a_takeover_that_nobody_confirmed_neither_sends_nor_asks(shared_stack: Stack) -> None:
    item_id = new_item(shared_stack, "takeover")
    asked = len(shared_stack.items.faults.seen)
    async with seeds_of(shared_stack) as seeds, client_of(in_process(shared_stack.env())) as http:
        await seeds.begun("k", LOOKUP, arguments=UpdateItem(item_id=item_id, name="k"))
        shared_stack.store_faults.plan(ResetBefore(), on=between("k", 2, 3), count=None)
        change = {"item_id": item_id, "name": "k", "idempotency_key": "k"}
        said = await Mcp(http=http).settle("update_item", **change)
    assert (said["outcome"], said["side_effect"]) == ("store_unavailable", "unknown")
    assert len(shared_stack.items.faults.seen) == asked
