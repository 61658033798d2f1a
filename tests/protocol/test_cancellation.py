"""A caller goes away, is cancelled, or its server is told to stop: no record and no effect is lost.

Before anything is sent the key is released; while it is under way the operation is in doubt; once
it was heard of, it is committed. Source: PROTOCOL §7 (JSON mode, the shielded commit), §4.
"""

import asyncio
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pytest

from lib.dev.faults import ResetBefore
from lib.dev.serving import serve
from lib.dev.store_faults import nth
from lib.tools.items import UpdateItem
from tests.harness.kinds import KINDS, moves, new_item
from tests.harness.lossy import Callers, every_class_in_process, lossy_client
from tests.harness.nursery import Nursery
from tests.harness.seams import Executes, Stopped
from tests.harness.seeds import LOOKUP, seeds_of
from tests.harness.servers import client_at
from tests.harness.stack import Stack
from tests.harness.wire import LEGACY, MODERN, Mcp

TOOLS = {kind.tool for kind in KINDS}
PATIENT = {
    "MAX_DURATION_S": "10",
    "BACKEND_TIMEOUT_S": "8",
    "STORE_TIMEOUT_S": "8",
    "KILL_SLACK_S": "0.1",
}


@pytest.fixture(name="stack")
def standing(shared_stack: Stack) -> Stack:
    return shared_stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Where each call stands when it is cancelled; nth: of its requests there."""

    where: Literal["store", "backend"]
    nth: int = 1
    executes: Executes = "first"

    def stop(self, callers: Callers) -> Mapping[str, Stopped]:
        """Let each command's call stand there."""
        stops = {tool: Stopped(executes=self.executes) for tool in callers.told}
        for tool, told in callers.told.items():
            if self.where == "store":
                match = nth(self.nth, moves(told.key))
                callers.stack.store_faults.plan(stops[tool], on=match)
            else:
                match = nth(self.nth, told.kind.is_sent(told.key))
                callers.stack.items.faults.plan(stops[tool], on=match)
        return stops


CLAIM = Point(where="store")
SENT = Point(where="backend")
NOT_LANDED = Point(where="backend", executes="never")
COMMIT = Point(where="store", nth=2)
COMMIT_LOST = Point(where="store", nth=2, executes="never")


async def cancelled(callers: Callers, point: Point) -> None:
    """Cancel the calls natively while all of them stand at the point."""
    stops = point.stop(callers)
    task = asyncio.create_task(callers.call())
    for tool, stop in stops.items():
        assert await stop.stands(), tool
    task.cancel()
    await asyncio.sleep(0)
    for stop in stops.values():
        stop.released.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def known(callers: Callers, mcp: Mcp) -> dict[str, str | None]:
    """Tell what get_operation says of each command."""
    said = {
        tool: await mcp.settle("get_operation", idempotency_key=told.key)
        for tool, told in callers.told.items()
    }
    return {tool: each["outcome"] for tool, each in said.items()}


async def test_a_call_cancelled_at_its_claim_is_released_and_sends_nothing(stack: Stack) -> None:
    async with lossy_client(stack, **PATIENT) as http:
        callers = Callers(stack, http)
        await cancelled(callers, CLAIM)
        assert await known(callers, Mcp(http=http)) == dict.fromkeys(TOOLS)
        assert callers.effects() == dict.fromkeys(TOOLS, 0)
        told = await callers.call()
    assert {each.last["this_call"] for each in told.values()} == {"executed"}
    assert callers.effects() == dict.fromkeys(TOOLS, 1)


@pytest.mark.parametrize("point", [SENT, NOT_LANDED], ids=["landed", "not landed"])
async def test_a_call_cancelled_while_sending_is_in_doubt_and_found_out(
    stack: Stack, point: Point
) -> None:
    async with lossy_client(stack, **PATIENT) as http:
        callers = Callers(stack, http)
        await cancelled(callers, point)
        assert await known(callers, Mcp(http=http)) == dict.fromkeys(TOOLS, "in_doubt")
        told = await callers.call_until_definite()
    lasts = {tool: (each.last["outcome"], each.last["this_call"]) for tool, each in told.items()}
    doubt = {"send_notice": ("in_doubt", "not_executed")}
    assert lasts == dict.fromkeys(TOOLS, ("succeeded", "recovered")) | doubt
    landed = {} if point is SENT else {"send_notice": 0}
    assert callers.effects() == dict.fromkeys(TOOLS, 1) | landed


@pytest.mark.parametrize("point", [COMMIT, COMMIT_LOST], ids=["stored", "lost once"])
async def test_a_call_cancelled_at_its_commit_is_committed(stack: Stack, point: Point) -> None:
    async with lossy_client(stack, **PATIENT) as http:
        callers = Callers(stack, http)
        await cancelled(callers, point)
        assert await known(callers, Mcp(http=http)) == dict.fromkeys(TOOLS, "succeeded")
        told = await callers.call()
    assert {each.last["this_call"] for each in told.values()} == {"replayed"}
    assert callers.effects() == dict.fromkeys(TOOLS, 1)


async def test_what_was_heard_outlives_a_cancellation_and_a_silent_store_together(
    stack: Stack,
) -> None:
    async with lossy_client(stack, **PATIENT) as http:
        callers = Callers(stack, http)
        for told in callers.told.values():
            stack.store_faults.plan(ResetBefore(), on=nth(3, moves(told.key)))
        await cancelled(callers, COMMIT_LOST)
        assert await known(callers, Mcp(http=http)) == dict.fromkeys(TOOLS, "succeeded")
    assert callers.effects() == dict.fromkeys(TOOLS, 1)


async def test_a_call_cancelled_as_it_is_cleared_to_run_is_released(stack: Stack) -> None:
    change = {"item_id": new_item(stack, "cleared"), "name": "k", "idempotency_key": "k"}
    cleared = Stopped(executes="first")
    async with seeds_of(stack) as seeds, lossy_client(stack, **PATIENT) as http:
        arguments = UpdateItem(item_id=change["item_id"], name="k")
        await seeds.begun("k", LOOKUP, arguments=arguments)
        await asyncio.sleep(0.12)  # past the horizon of what is absent
        stack.store_faults.plan(cleared, on=nth(3, moves("k")))  # claimed, asked, and absent
        task = asyncio.create_task(Mcp(http=http).settle("update_item", **change))
        assert await cleared.stands()
        task.cancel()
        await asyncio.sleep(0)
        cleared.released.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await seeds.record("k") is None
        told = await Mcp(http=http).settle("update_item", **change)
    assert told["this_call"] == "executed"


@pytest.mark.parametrize("era", [MODERN, LEGACY])
@pytest.mark.parametrize("point", [CLAIM, SENT, COMMIT], ids=["claim", "sent", "commit"])
async def test_a_client_that_hangs_up_stops_nothing(stack: Stack, point: Point, era: str) -> None:
    kinds = [kind for kind in KINDS if kind.tool != "delete_item"]
    with serve(every_class_in_process(stack, **PATIENT)) as served:
        async with client_at(served.url) as http:
            callers, mcp = Callers(stack, http, kinds=kinds), Mcp(http=http, era=era)
            stops = point.stop(callers)
            item_id = new_item(stack, "hung-up")
            for tool, told in callers.told.items():
                arguments = told.kind.arguments(item_id, told.key) | {"idempotency_key": told.key}
                request = mcp.request("tools/call", name=tool, arguments=arguments)
                _, writer = await asyncio.open_connection(served.host, served.port)
                lines = [f"{name}: {value}\r\n" for name, value in request.headers.items()]
                head = f"POST /mcp HTTP/1.1\r\n{''.join(lines)}\r\n"
                writer.write(head.encode() + request.read())
                assert await stops[tool].stands(), tool
                writer.transport.abort()
            for stop in stops.values():
                stop.released.set()
            outcomes = await settled(callers, mcp)
    assert outcomes == dict.fromkeys(callers.told, "succeeded")
    assert callers.effects() == dict.fromkeys(callers.told, 1)


async def settled(callers: Callers, mcp: Mcp) -> dict[str, str | None]:
    """Wait until no call is under way any more; tell what became of each."""
    async with asyncio.timeout(5):
        while "in_progress" in (outcomes := await known(callers, mcp)).values():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return outcomes


@pytest.mark.parametrize("era", [MODERN, LEGACY])
async def test_a_cancelled_notification_is_accepted_and_stops_nothing(
    stack: Stack, era: str
) -> None:
    async with lossy_client(stack, **PATIENT) as http:
        callers, mcp = Callers(stack, http), Mcp(http=http, era=era)
        stops = SENT.stop(callers)
        task = asyncio.create_task(callers.call())
        for tool, stop in stops.items():
            assert await stop.stands(), tool
        answer = await mcp.send("notifications/cancelled", requestId=1, reason="impatient")
        assert answer.status_code == 202
        for stop in stops.values():
            stop.released.set()
        told = await task
    assert {each.last["outcome"] for each in told.values()} == {"succeeded"}
    assert callers.effects() == dict.fromkeys(TOOLS, 1)


async def test_a_server_told_to_stop_finishes_its_commands(stack: Stack, nursery: Nursery) -> None:
    env = stack.env(**PATIENT)
    with nursery.server(env, target="tests.harness.served:app") as server:
        async with client_at(server.url) as http:
            callers = Callers(stack, http)
            stops = SENT.stop(callers)
            task = asyncio.create_task(callers.call())
            for tool, stop in stops.items():
                assert await stop.stands(), tool
            server.signal(signal.SIGTERM)
            for stop in stops.values():
                stop.released.set()
            told = await task
        assert await asyncio.to_thread(server.wait) in {0, -signal.SIGTERM}
    assert {each.last["outcome"] for each in told.values()} == {"succeeded"}
    assert callers.effects() == dict.fromkeys(TOOLS, 1)
