"""What `tools/list` shows: committed, sorted, cached privately, as far as the grant reaches."""

import json

from tests.harness.listed import COMMANDS, QUERIES
from tests.harness.servers import client_of, in_process
from tests.harness.stack import READ_KEY, Stack
from tests.harness.wire import LEGACY, MODERN, Mcp
from tests.lock import LOCK, text


def test_the_wire_form_of_the_tools_is_the_committed_one() -> None:
    assert LOCK.read_text() == text(), "run: uv run python -m tests.lock"


async def test_what_is_listed_is_what_is_committed(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        listed = await Mcp(http=http).result("tools/list")
    assert listed["tools"] == json.loads(LOCK.read_text())


async def test_queries_come_first_then_commands_each_by_name(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        for era in (MODERN, LEGACY):
            listed = await Mcp(http=http, era=era).result("tools/list")
            assert [tool["name"] for tool in listed["tools"]] == sorted(QUERIES) + sorted(COMMANDS)


async def test_a_listing_may_be_cached_but_by_nobody_else(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        listed = await Mcp(http=http).result("tools/list")
    assert (listed["cacheScope"], listed["ttlMs"] > 0) == ("private", True)


async def test_a_read_key_sees_no_command(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        listed = await Mcp(http=http, key=READ_KEY).result("tools/list")
    assert [tool["name"] for tool in listed["tools"]] == QUERIES


async def test_every_command_takes_a_bounded_key_and_says_how_to_choose_it(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        listed = await Mcp(http=http).result("tools/list")
    for tool in listed["tools"][len(QUERIES) :]:
        key = tool["inputSchema"]["properties"]["idempotency_key"]
        assert (key["type"], key["minLength"], key["maxLength"]) == ("string", 1, 128)
        assert "idempotency_key" in tool["inputSchema"]["required"]
        assert tool["inputSchema"]["additionalProperties"] is False
        assert "Reuse exactly the same key" in tool["description"]


async def test_listing_costs_no_store_round_trip(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        await Mcp(http=http).result("tools/list")
    assert stack.front.exchanges == []
