"""The same decisions from a server process, and what tries to slip past them on the wire."""

import base64
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest

from tests.harness.audit import audit_lines
from tests.harness.entrances import invoked, served
from tests.harness.gate import (
    ENDPOINTS,
    NEEDS,
    PLACES,
    READ,
    WRITE,
    Place,
    env_of,
    expected,
    key_of,
    reached,
)
from tests.harness.servers import client_of, in_process
from tests.harness.stack import READ_KEY, READ_TOKEN, WRITE_KEY, Stack
from tests.harness.wire import LEGACY, META, MODERN, Mcp

SAMPLE = [frozenset[str](), frozenset({READ}), frozenset({WRITE}), frozenset({READ, WRITE})]
EXAMPLE = [name for name in NEEDS if not name.endswith("_ledger")]
type Entrance = Callable[[dict[str, str]], AbstractAsyncContextManager[httpx.AsyncClient]]
BOTH_TYPES = "application/json, text/event-stream"


@pytest.mark.parametrize(
    ("place", "entrance"),
    [(PLACES[0], served), (PLACES[4], served), (PLACES[0], invoked)],
    ids=["production process", "preview process", "production lambda"],
)
async def test_entrances_from_outside_decide_as_the_expectation_does(
    stack: Stack, place: Place, entrance: Entrance
) -> None:
    async with entrance(env_of(place, stack)) as http:
        for scopes in SAMPLE:
            for endpoint in ENDPOINTS:
                mcp = Mcp(http=http, key=key_of(scopes), path=endpoint)
                listed = [tool["name"] for tool in (await mcp.result("tools/list"))["tools"]]
                names = reached(place, scopes, endpoint)
                assert [name for name in listed if name in EXAMPLE] == [
                    name for name in names if name in EXAMPLE
                ]
                for name in EXAMPLE:
                    answer = await mcp.send("tools/call", name=name, arguments={})
                    reason = expected(place, scopes, endpoint, name)
                    assert (answer.status_code == 403) == (reason == "scope")
                    assert ("Not allowed" in answer.text) == (reason in {"preview", "readonly"})
    assert (stack.front.exchanges, stack.written) == ([], [])


async def post(
    http: httpx.AsyncClient, named: str | None, body_name: str, **headers: str
) -> httpx.Response:
    """Call a tool whose header says one thing and whose body says another; with a read key."""
    params: dict[str, Any] = {
        "name": body_name,
        "arguments": {"name": "lamp", "quantity": 1, "idempotency_key": "k"},
        "_meta": {
            f"{META}/protocolVersion": MODERN,
            f"{META}/clientCapabilities": {},
            f"{META}/clientInfo": {"name": "tests", "version": "1"},
        },
    }
    sent = {
        "Accept": BOTH_TYPES,
        "Authorization": f"Bearer {READ_KEY}",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        **({} if named is None else {"Mcp-Name": named}),
        **headers,
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return await http.post("/mcp", headers=sent, json=body)


def encoded(name: str) -> str:
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


NAMINGS: list[tuple[str | None, str, int]] = [
    ("create_item", "create_item", 403),
    (encoded("create_item"), "create_item", 403),
    (encoded("get_item"), "create_item", 400),
    ("get_item", "create_item", 400),
    ("create_item", "get_item", 400),
    ("=?base64?not-base64?=", "create_item", 400),
    ("=?base64??=", "create_item", 400),
    ("=?BASE64?Y3JlYXRlX2l0ZW0=?=", "create_item", 400),
    (None, "create_item", 400),
    ("", "create_item", 400),
]
DISAGREEING: list[dict[str, str]] = [
    {"Mcp-Method": "tools/list"},
    {"Mcp-Method": ""},
    {"MCP-Protocol-Version": LEGACY},
    {"MCP-Protocol-Version": "2099-01-01"},
    {"MCP-Protocol-Version": ""},
]


async def test_no_spelling_of_mcp_name_lets_a_read_key_call_a_command(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        statuses = [(await post(http, named, name)).status_code for named, name, _ in NAMINGS]
    assert statuses == [status for *_, status in NAMINGS]
    assert (stack.front.exchanges, stack.items.faults.seen) == ([], ())


async def test_a_header_that_disagrees_with_the_body_changes_no_decision(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        for headers in DISAGREEING:
            answer = await post(http, "create_item", "create_item", **headers)
            assert answer.status_code in {400, 403}
    assert (stack.front.exchanges, stack.items.faults.seen) == ([], ())


@pytest.mark.parametrize("era", [MODERN, LEGACY])
async def test_headers_of_another_tool_do_not_matter_in_the_era_that_has_none(
    stack: Stack, era: str
) -> None:
    headers = {
        "Accept": BOTH_TYPES,
        "Authorization": f"Bearer {READ_KEY}",
        "MCP-Protocol-Version": era,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "list_items",
    }
    params: dict[str, Any] = {"name": "create_item", "arguments": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with client_of(in_process(stack.env())) as http:
        answer = await http.post("/mcp", headers=headers, json=body)
    assert answer.status_code == (403 if era == LEGACY else 400)


@pytest.mark.parametrize("era", [MODERN, LEGACY])
async def test_a_replay_is_authorised_like_a_first_call(stack: Stack, era: str) -> None:
    sent = {"name": "lamp", "quantity": 1, "idempotency_key": "k"}
    async with client_of(in_process(stack.env())) as http:
        first = await Mcp(http=http, era=era).settle("create_item", **sent)
    assert first["outcome"] == "succeeded"
    lost = stack.env()
    lost["AGENT_KEYS"] = lost["AGENT_KEYS"].replace('"call:write_tools"', '"call:other_tools"')
    before = len(stack.front.exchanges)
    with audit_lines() as lines:
        async with client_of(in_process(lost)) as http:
            mcp = Mcp(http=http, key=WRITE_KEY, era=era)
            answer = await mcp.send("tools/call", name="create_item", arguments=sent)
    assert answer.status_code == 403
    assert "lamp" not in answer.text
    assert len(stack.front.exchanges) == before
    assert [(line["actor"], line["reason"]) for line in lines] == [("writer", "scope")]


async def test_what_a_read_key_reads_is_read_with_the_read_token(stack: Stack) -> None:
    env = stack.env(BACKEND_WRITE_TOKEN="no-such-token", KV_REST_API_TOKEN="no-such-token")
    assert READ_TOKEN in env.values()
    async with client_of(in_process(env)) as http:
        mcp = Mcp(http=http, key=READ_KEY)
        listed = await mcp.call("list_items")
        known = await mcp.call("get_operation", idempotency_key="k")
    assert (listed["isError"], known["isError"]) == (False, False)
