"""Several attempts at one operation: owners, twins, and owners that were taken for dead.

Each names where it went wrong elsewhere. Source: PROTOCOL §4, §11.
"""

import asyncio
import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from lib.contract import Call, Command, Keyed
from lib.dev.faults import Held
from lib.dev.store_faults import nth
from tests.harness.kinds import KINDS, moves
from tests.harness.lossy import EXPIRING, Callers, lossy_client
from tests.harness.seams import Stopped
from tests.harness.seeds import seeds_of
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

CREATE = KINDS[0]
NOTICE = next(kind for kind in KINDS if kind.backend == "none")


def created(key: str, **more: Any) -> dict[str, Any]:
    return {**CREATE.arguments("", key), "idempotency_key": key, **more}


async def test_a_refused_duplicate_deletes_nothing_of_the_owner(stack: Stack) -> None:
    """powertools-lambda-typescript #5675, #5717: a rejected duplicate deleted the record."""
    stop = Stopped(executes="first")
    stack.items.faults.plan(stop, on=CREATE.is_sent("key"))
    async with lossy_client(stack) as http:
        mcp = Mcp(http=http)
        owner = asyncio.create_task(mcp.settle("create_item", **created("key")))
        assert await stop.stands()
        reused = await mcp.settle("create_item", **created("key", name="another"))
        invalid = await mcp.settle("create_item", **created("key", quantity=-1))
        twin = asyncio.create_task(mcp.settle("create_item", **created("key")))
        await asyncio.sleep(0.05)
        twin.cancel()
        with pytest.raises(asyncio.CancelledError):
            await twin
        running = await mcp.settle("get_operation", idempotency_key="key")
        stop.released.set()
        done = await owner
    assert [each["outcome"] for each in (reused, invalid, running)] == [
        "key_reused",
        "invalid",
        "in_progress",
    ]
    assert (done["outcome"], done["recorded"], running["attempts"]) == ("succeeded", True, 1)


async def test_a_twin_of_slow_work_waits_and_never_runs(stack: Stack) -> None:
    """Truxify #5846, langwatch #6511, noveum orbit #455: a lock that was shorter than the work."""
    done = threading.Event()
    async with lossy_client(stack) as http:
        callers = Callers(stack, http, kinds=[NOTICE])
        told = callers.told[NOTICE.tool]
        stack.items.faults.plan(Held("before", done), on=NOTICE.is_sent(told.key))
        calls = [asyncio.create_task(callers.call()) for _ in "123"]
        for _, twin in zip("12", asyncio.as_completed(calls), strict=False):
            await twin
        done.set()
        await asyncio.gather(*calls)
        told.envelopes.sort(key=lambda each: each["outcome"])
        assert [each["outcome"] for each in told.envelopes] == ["in_progress"] * 2 + ["succeeded"]
        assert told.first["retry"]["after_ms"] > 1_000
        await callers.call()
    assert (told.last["this_call"], callers.effects()) == ("replayed", {NOTICE.tool: 1})


class Batch(BaseModel):
    lines: list[str]


class Filed(BaseModel):
    lines: int


def file_batch(effects: list[Batch]) -> Command[Batch, Filed]:
    async def perform(batch: Batch, _: Call) -> Filed:
        batch.lines.append("changed by the handler")
        effects.append(batch)
        return Filed(lines=len(effects))

    return Command(
        name="create_batch",
        toolset="batches",
        description="File a batch.",
        arguments=Batch,
        result=Filed,
        perform=perform,
        backend=Keyed(window=timedelta(hours=1), sticky=False),
        destructive=False,
        target="the batches",
    )


async def test_a_handler_that_changes_its_input_changes_no_fingerprint(stack: Stack) -> None:
    """powertools-lambda-python #1093: the handler changed its input, and there were two records."""
    effects: list[Batch] = []
    async with client_of(in_process(stack.env(), tools=[file_batch(effects)])) as http:
        asked = {"lines": ["one"], "idempotency_key": "key"}
        first = await Mcp(http=http).settle("create_batch", **asked)
        again = await Mcp(http=http).settle("create_batch", **asked)
    assert again == first | {"this_call": "replayed"}
    assert len(effects) == 1


async def taken_over(mcp: Mcp, tool: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Call until the lease of the attempt before has ended; give what the taking over got."""
    told = await mcp.settle(tool, **asked)
    while told["outcome"] == "in_progress":
        await asyncio.sleep(told["retry"]["after_ms"] / 1000)
        told = await mcp.settle(tool, **asked)
    return told


async def test_a_late_success_is_believed_from_an_attempt_that_was_taken_over(
    stack: Stack,
) -> None:
    """powertools-lambda-python #8049: what is known is not thrown away for being late."""
    commit, resent = Stopped(executes="late"), Stopped(executes="late")
    stack.store_faults.plan(commit, on=nth(2, moves("key")))
    stack.items.faults.plan(resent, on=nth(2, CREATE.is_sent("key")))
    async with lossy_client(stack, **EXPIRING, STORE_TIMEOUT_S="30") as http:
        mcp = Mcp(http=http)
        late = asyncio.create_task(mcp.settle("create_item", **created("key")))
        assert await commit.stands()
        heir = asyncio.create_task(taken_over(mcp, "create_item", created("key")))
        assert await resent.stands()
        commit.released.set()
        first = await late
        known = await mcp.settle("get_operation", idempotency_key="key")
        resent.released.set()
        second = await heir
    assert (first["outcome"], first["recorded"], known["outcome"]) == (
        "succeeded",
        True,
        "succeeded",
    )
    assert (second["result"], CREATE.effects(stack, "key")) == (first["result"], 1)


async def test_a_stale_owners_success_is_a_conflict_and_the_first_answer_stays(
    stack: Stack, caplog: pytest.LogCaptureFixture
) -> None:
    """exactly-once 0.2.1: the commit of a stale owner won silently."""
    effects: list[Batch] = []
    asked = {"lines": ["one"], "idempotency_key": "key"}
    stop = Stopped(executes="late")
    stack.store_faults.plan(stop, on=nth(2, moves("key")))
    env = stack.env(**EXPIRING, STORE_TIMEOUT_S="30")
    async with client_of(in_process(env, tools=[file_batch(effects)])) as http:
        stale = asyncio.create_task(Mcp(http=http).settle("create_batch", **asked))
        assert await stop.stands()
        told = await taken_over(Mcp(http=http), "create_batch", asked)
        stop.released.set()
        late = await stale
    async with seeds_of(stack) as seeds:
        record = await seeds.record("key")
    assert (told["result"], late["result"], len(effects)) == ({"lines": 2}, {"lines": 2}, 2)
    assert record is not None
    assert (record.conflicts, json.loads(record.conflict or "")) == (1, {"lines": 1})
    assert "conflict" in [each.message for each in caplog.records if each.levelname == "ERROR"]
