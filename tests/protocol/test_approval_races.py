"""No schedule gets past the question: releases, twins, stale reads, kills, a silent store."""

import asyncio
import socket
import threading
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

from lib.dev.engine import Engine
from lib.dev.faults import Held, Replaced, ResetBefore, bad_gateway, rate_limited
from lib.dev.faulty import call
from lib.dev.store_faults import naming
from lib.dev.wire import answer_of
from tests.harness.approval import first_round, new_item, second_round
from tests.harness.nursery import Nursery
from tests.harness.servers import client_of, in_process
from tests.harness.stack import WRITE_KEY, Stack
from tests.harness.wire import Mcp

STALE = Replaced(
    "before", answer_of(200, "application/json", b'[{"result":null},{"result":-2},{"result":null}]')
)


def ask_engine(engine: Engine, command: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(str(engine.socket_path))
        wire.sendall(command + b"\r\n")
        return wire.recv(64).strip()


async def fired(stack: Stack) -> None:
    assert await asyncio.to_thread(stack.store_faults.wait_fired)


async def in_doubt(stack: Stack, mcp: Mcp, item: str) -> str:
    """Leave an approved deletion in doubt; nothing happened. Gives the sealed state."""
    stack.items.faults.plan(ResetBefore(), on=call("DELETE"), count=2)
    asked = await first_round(mcp, item_id=item, idempotency_key="k")
    done = await second_round(mcp, asked.state, item_id=item, idempotency_key="k")
    assert done["structuredContent"]["outcome"] == "in_doubt", done
    return asked.state


async def test_two_approved_rounds_at_once_have_one_effect(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        item = await new_item(mcp)
        state = (await first_round(mcp, item_id=item, idempotency_key="k")).state
        both = await asyncio.gather(
            *(second_round(mcp, state, item_id=item, idempotency_key="k") for _ in range(4))
        )
    outcomes = {each["structuredContent"]["outcome"] for each in both}
    assert outcomes <= {"succeeded", "in_progress"}
    assert "succeeded" in outcomes
    assert stack.items.effects().deleted == 1


async def test_a_record_released_between_look_and_claim_is_asked_about(
    stack: Stack, engine: Engine
) -> None:
    async with client_of(in_process(stack.env(STORE_TIMEOUT_S="3"))) as http:
        mcp = Mcp(http=http)
        item = await new_item(mcp)
        await in_doubt(stack, mcp, item)
        released = threading.Event()
        stack.store_faults.plan(Held("after", released), on=naming("GET"))
        unapproved = asyncio.ensure_future(
            mcp.call("delete_item", item_id=item, idempotency_key="k")
        )
        await fired(stack)
        assert ask_engine(engine, b"FLUSHALL") == b"+OK"
        released.set()
        result = await unapproved
    assert result["resultType"] == "input_required"
    assert stack.items.effects().deleted == 0
    assert ask_engine(engine, b"DBSIZE") == b":0"


async def test_an_open_record_lets_its_retry_go_on_without_a_question(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        item = await new_item(mcp)
        await in_doubt(stack, mcp, item)
        done = await mcp.settle("delete_item", item_id=item, idempotency_key="k")
    assert (done["outcome"], done["this_call"]) == ("succeeded", "recovered")
    assert stack.items.effects().deleted == 1


@pytest.mark.parametrize("other", [{"item_id": "another"}, {}])
async def test_a_key_of_another_operation_is_reused_at_once(
    stack: Stack, other: dict[str, str]
) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        item = await new_item(mcp)
        if other:
            await in_doubt(stack, mcp, item)
        else:
            await mcp.settle("create_item", name="chair", quantity=1, idempotency_key="k")
        result = await mcp.call("delete_item", **{"item_id": item, "idempotency_key": "k", **other})
    said = result["structuredContent"]
    assert (said["outcome"], said["side_effect"]) == ("key_reused", "none")
    assert stack.items.effects().deleted == 0


async def test_two_tools_on_one_key_never_get_past_the_question(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        item = await new_item(mcp)
        state = (await first_round(mcp, item_id=item, idempotency_key="k")).state
        await mcp.settle("create_item", name="chair", quantity=1, idempotency_key="k")
        late = await second_round(mcp, state, item_id=item, idempotency_key="k")
    assert late["structuredContent"]["outcome"] == "key_reused"
    assert stack.items.effects().deleted == 0


async def test_a_stale_read_costs_a_second_question_and_no_second_effect(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        item = await new_item(mcp)
        state = (await first_round(mcp, item_id=item, idempotency_key="k")).state
        await second_round(mcp, state, item_id=item, idempotency_key="k")
        stack.store_faults.plan(STALE, on=naming("GET"))
        asked = await first_round(mcp, item_id=item, idempotency_key="k")
        again = await second_round(mcp, asked.state, item_id=item, idempotency_key="k")
    assert again["structuredContent"]["this_call"] == "replayed"
    assert stack.items.effects().deleted == 1


async def test_a_read_that_shows_a_settled_record_as_open_changes_nothing(stack: Stack) -> None:
    async with client_of(in_process(stack.env(STORE_TIMEOUT_S="3"))) as http:
        mcp = Mcp(http=http)
        item = await new_item(mcp)
        state = await in_doubt(stack, mcp, item)
        settled = threading.Event()
        stack.store_faults.plan(Held("after", settled), on=naming("GET"))
        stale = asyncio.ensure_future(mcp.settle("delete_item", item_id=item, idempotency_key="k"))
        await fired(stack)
        await second_round(mcp, state, item_id=item, idempotency_key="k")
        settled.set()
        assert (await stale)["this_call"] == "replayed"
    assert stack.items.effects().deleted == 1


async def test_an_approval_counts_again_after_its_attempt_was_released(stack: Stack) -> None:
    stack.items.faults.plan(rate_limited(1), on=call("DELETE"))
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        item = await new_item(mcp)
        state = (await first_round(mcp, item_id=item, idempotency_key="k")).state
        first = await second_round(mcp, state, item_id=item, idempotency_key="k")
        unapproved = await mcp.call("delete_item", item_id=item, idempotency_key="k")
        again = await second_round(mcp, state, item_id=item, idempotency_key="k")
    said = first["structuredContent"]
    assert (said["outcome"], said["retry"]["advice"]) == ("not_executed", "same_key")
    assert unapproved["resultType"] == "input_required"
    assert again["structuredContent"]["outcome"] == "succeeded"
    assert stack.items.effects().deleted == 1


async def test_a_silent_store_on_the_first_round_is_said_and_nothing_is_asked(
    stack: Stack,
) -> None:
    stack.store_faults.plan(bad_gateway("before"), count=None)
    async with client_of(in_process(stack.env())) as http:
        result = await Mcp(http=http).call("delete_item", item_id="1", idempotency_key="k")
    said = result["structuredContent"]
    assert (said["outcome"], said["side_effect"]) == ("store_unavailable", "unknown")
    assert said["retry"]["advice"] == "same_key"
    assert stack.items.faults.seen == ()


async def test_a_kill_during_an_unapproved_call_leaves_no_record(
    stack: Stack, engine: Engine, nursery: Nursery
) -> None:
    ended = threading.Event()
    stack.store_faults.plan(Held("after", ended), on=naming("GET"))
    with nursery.server(stack.env(STORE_TIMEOUT_S="3")) as process:
        async with httpx.AsyncClient(base_url=process.url, timeout=10) as http:
            sent = {"item_id": "1", "idempotency_key": "k"}
            asking = asyncio.ensure_future(Mcp(http=http).call("delete_item", **sent))
            await fired(stack)
            process.kill()
            ended.set()
            with pytest.raises(httpx.TransportError):
                await asking
    assert process.was_killed
    assert ask_engine(engine, b"DBSIZE") == b":0"


@pytest.mark.parametrize("says", ["accept", "decline", "cancel"])
async def test_the_sdks_client_puts_the_question_to_its_user(stack: Stack, says: Any) -> None:
    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001  by name
        asked.append(params.message)
        return ElicitResult(action=says, content={"approve": True} if says == "accept" else None)

    app = in_process(stack.env())
    async with client_of(app) as http:
        item = await new_item(Mcp(http=http))
    transport = httpx2.ASGITransport(app=app)
    headers = {"Authorization": f"Bearer {WRITE_KEY}"}
    async with httpx2.AsyncClient(transport=transport, headers=headers) as raw:
        url = "http://127.0.0.1/mcp"
        async with Client(
            streamable_http_client(url, http_client=raw), elicitation_callback=elicit
        ) as client:
            done = await client.call_tool("delete_item", {"item_id": item, "idempotency_key": "k"})
    assert done.structured_content is not None
    assert done.structured_content["outcome"] == ("succeeded" if says == "accept" else "forbidden")
    assert len(asked) == 1
    assert stack.items.effects().deleted == (1 if says == "accept" else 0)
