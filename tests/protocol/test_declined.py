"""A person says no: what the call is told is what the operation's record shows by then.

Source: DESIGN §7 (approval); PROTOCOL §4 (a settled record answers for itself).
"""

from typing import Any

from lib.dev.faults import ResetBefore, bad_gateway
from lib.dev.faulty import call
from tests.harness.approval import NO, first_round, new_item, second_round
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp


async def asked_of(mcp: Mcp) -> tuple[str, dict[str, Any]]:
    """Ask to delete a new item; give the sealed state and the call's arguments."""
    sent: dict[str, Any] = {"item_id": await new_item(mcp), "idempotency_key": "k"}
    return (await first_round(mcp, **sent)).state, sent


async def declined(mcp: Mcp, state: str, sent: dict[str, Any]) -> tuple[str, str, str]:
    said = (await second_round(mcp, state, NO, **sent))["structuredContent"]
    return said["outcome"], said["side_effect"], said["this_call"]


async def test_a_no_while_the_store_is_silent_leaves_open_what_earlier_calls_did(
    stack: Stack,
) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        state, sent = await asked_of(mcp)
        stack.store_faults.plan(bad_gateway("before"), count=None)
        assert await declined(mcp, state, sent) == ("forbidden", "unknown", "not_executed")
    assert stack.items.effects().deleted == 0


async def test_a_no_under_a_key_that_another_command_took_meanwhile_is_a_reuse(
    stack: Stack,
) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        state, sent = await asked_of(mcp)
        await mcp.settle("create_item", name="chair", quantity=1, idempotency_key="k")
        assert await declined(mcp, state, sent) == ("key_reused", "none", "not_executed")
    assert stack.items.effects().deleted == 0


async def test_a_no_after_a_yes_was_carried_out_is_told_what_happened(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        state, sent = await asked_of(mcp)
        await second_round(mcp, state, **sent)
        assert await declined(mcp, state, sent) == ("succeeded", "occurred", "replayed")
    assert stack.items.effects().deleted == 1


async def test_a_no_after_a_yes_in_doubt_finds_nothing_out(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        state, sent = await asked_of(mcp)
        stack.items.faults.plan(ResetBefore(), on=call("DELETE"), count=None)
        done = await second_round(mcp, state, **sent)
        asked = len(stack.items.faults.seen)
        assert done["structuredContent"]["outcome"] == "in_doubt"
        assert await declined(mcp, state, sent) == ("forbidden", "unknown", "not_executed")
    assert (len(stack.items.faults.seen), stack.items.effects().deleted) == (asked, 0)
