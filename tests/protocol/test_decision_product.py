"""The full product (grants, deployments, endpoints, tools) through every entrance, compared.

The expectation is `tests/harness/gate.py`, which asks the machinery for nothing.
"""

import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.harness.audit import Line, audit_lines
from tests.harness.gate import (
    COMMANDS,
    ENDPOINTS,
    NEEDS,
    PLACES,
    QUERIES,
    READ,
    TOOLSETS,
    UNKNOWN,
    WRITE,
    Place,
    env_of,
    every_grant,
    expected,
    key_of,
    product_tools,
    reached,
)
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import LEGACY, MODERN, Mcp


@asynccontextmanager
async def deployed(place: Place, stack: Stack) -> AsyncGenerator[httpx.AsyncClient]:
    app = in_process(env_of(place, stack), tools=product_tools())
    async with client_of(app) as http:
        yield http


def clients(http: httpx.AsyncClient) -> Iterator[tuple[frozenset[str], Mcp]]:
    """Give every grant at every endpoint; in the older era those without unusual scopes."""
    for scopes in every_grant():
        for endpoint in ENDPOINTS:
            for era in (MODERN, LEGACY) if scopes <= {READ, WRITE} else (MODERN,):
                yield scopes, Mcp(http=http, key=key_of(scopes), path=endpoint, era=era)


def challenged_scopes(answer: httpx.Response) -> set[str]:
    found = re.search(r'scope="([^"]*)"', answer.headers["www-authenticate"])
    assert found is not None
    return set(found.group(1).split())


def verdict_of(answer: httpx.Response) -> str | None:
    """Read from the wire why a call was refused; None where it was let through."""
    if answer.status_code == 403:
        assert answer.json()["error"]["code"] == "insufficient_scope"
        return "scope"
    body = answer.json()
    if "error" in body:
        assert (body["error"]["code"], body["error"]["message"]) == (-32602, "Unknown tool")
        return "unknown_tool"
    return _told(body["result"])


def _told(result: dict[str, Any]) -> str | None:
    text: str = result["content"][0]["text"]
    content: dict[str, Any] = result.get("structuredContent", {})
    if content.get("outcome") == "forbidden":
        assert content["side_effect"] == "unknown"
        assert content["retry"] == {"advice": "never", "after_ms": None}
        return content["error"]["code"]
    assert not text.startswith("Not allowed")
    return None


def check_line(line: Line, name: str, scopes: frozenset[str], reason: str | None) -> None:
    known = name if name in NEEDS else None
    kind = "command" if name in COMMANDS else "query" if name in QUERIES else None
    assert (line["tool"], line["kind"], line["grant"]) == (known, kind, sorted(scopes))
    assert (line["decision"], line["reason"]) == ("refuse" if reason else "allow", reason)
    assert line["checked"] == (NEEDS[name][0] if known else None)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
async def test_every_entrance_decides_as_the_expectation_does(stack: Stack, place: Place) -> None:
    walked = 0
    async with deployed(place, stack) as http:
        for scopes, mcp in clients(http):
            for name in (*NEEDS, UNKNOWN[walked % len(UNKNOWN)]):
                with audit_lines() as lines:
                    answer = await mcp.send("tools/call", name=name, arguments={})
                reason = expected(place, scopes, mcp.path, name)
                assert verdict_of(answer) == reason, (scopes, mcp.path, mcp.era, name)
                [line] = lines
                check_line(line, name, scopes, reason)
                if reason == "scope":
                    assert challenged_scopes(answer) == set(NEEDS[name])
                walked += 1
    assert walked == (10 + 4) * 2 * 12
    assert (stack.front.exchanges, stack.items.faults.seen) == ([], ())


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
async def test_listings_show_exactly_what_calls_reach(stack: Stack, place: Place) -> None:
    async with deployed(place, stack) as http:
        for scopes, mcp in clients(http):
            names = reached(place, scopes, mcp.path)
            listed = await mcp.result("tools/list")
            assert [tool["name"] for tool in listed["tools"]] == names
            if mcp.era == MODERN:
                assert listed["cacheScope"] == "private"
            if READ in scopes:
                told = await mcp.call("list_toolsets")
                check_toolsets(told["structuredContent"], place, scopes, mcp.path)


def check_toolsets(
    told: dict[str, Any], place: Place, scopes: frozenset[str], endpoint: str
) -> None:
    by_name = {each["name"]: each for each in told["toolsets"]}
    assert by_name.keys() == TOOLSETS.keys()
    for toolset, names in TOOLSETS.items():
        reasons = {name: expected(place, scopes, endpoint, name) for name in names}
        withheld = {name: reason for name, reason in reasons.items() if reason}
        lacking = {
            scope for name, reason in withheld.items() if reason == "scope" for scope in NEEDS[name]
        }
        ordered = [each for each in ("preview", "readonly", "scope") if each in withheld.values()]
        assert by_name[toolset] == {
            "name": toolset,
            "queries": sorted(name for name in names if name in QUERIES and not reasons[name]),
            "commands": sorted(name for name in names if name in COMMANDS and not reasons[name]),
            "withheld": len(withheld),
            "needs": sorted(lacking - scopes),
            "reason": ordered[0] if ordered else None,
        }
    assert told["withheld"] == sum(each["withheld"] for each in told["toolsets"])


async def test_the_readonly_endpoint_lists_a_subset_for_every_grant(stack: Stack) -> None:
    async with deployed(PLACES[0], stack) as http:
        for scopes in every_grant():
            listed: dict[str, set[str]] = {}
            for endpoint in ENDPOINTS:
                mcp = Mcp(http=http, key=key_of(scopes), path=endpoint)
                tools = (await mcp.result("tools/list"))["tools"]
                listed[endpoint] = {tool["name"] for tool in tools}
            assert listed["/mcp/readonly"] <= listed["/mcp"]
            assert not listed["/mcp/readonly"] & COMMANDS.keys()
