"""Clients of other makers at the running server; the story is one, the clients are many."""

import asyncio
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import httpx
import pytest

from tests.clients.fastmcp_client import fastmcp_client
from tests.clients.node_clients import inspector, typescript
from tests.clients.python_sdk import python_sdk
from tests.clients.story import Peer, play
from tests.harness.nursery import Nursery, Server
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

BOLT = {"name": "bolt", "quantity": 2}


@pytest.fixture
def server(stack: Stack, nursery: Nursery) -> Iterator[Server]:
    with nursery.server(stack.env()) as process:
        yield process


@pytest.fixture
def item(server: Server) -> dict[str, Any]:
    """Give the one item that is there before a client comes."""

    async def create() -> dict[str, Any]:
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
            return await Mcp(http=http).settle("create_item", **BOLT, idempotency_key="before")

    return asyncio.run(create())["result"]


PYTHON_403 = "Server returned an error response"
HERE = {
    "modern": Peer(client=partial(python_sdk, "auto"), refused=PYTHON_403, approves=True),
    "handshake": Peer(client=partial(python_sdk, "legacy"), refused=PYTHON_403, approves=False),
}
# Handshake clients cannot be asked for approval here, nor can a command line without a user.
ON_NODE = {
    "typescript-modern": Peer(
        client=partial(typescript, "client"), refused="call:write_tools", approves=True
    ),
    "typescript-handshake": Peer(
        client=partial(typescript, "sdk"), refused="insufficient_scope", approves=False
    ),
    # The Inspector lists first, and calls nothing that it was not shown.
    "inspector-modern": Peer(
        client=partial(inspector, "modern"), refused="tool_not_found", approves=False
    ),
    "inspector-handshake": Peer(
        client=partial(inspector, "legacy"), refused="tool_not_found", approves=False
    ),
}


@pytest.mark.parametrize("peer", HERE.values(), ids=HERE.keys())
def test_the_python_sdk_speaks_to_it(
    stack: Stack, server: Server, item: dict[str, Any], peer: Peer
) -> None:
    play(peer, f"{server.url}/mcp", stack, item)


@pytest.mark.node
@pytest.mark.parametrize("peer", ON_NODE.values(), ids=ON_NODE.keys())
def test_a_client_on_node_speaks_to_it(
    stack: Stack, server: Server, item: dict[str, Any], peer: Peer
) -> None:
    play(peer, f"{server.url}/mcp", stack, item)


@pytest.mark.node
@pytest.mark.skipif(find_spec("fastmcp") is None, reason="needs uv run --group peers")
def test_fastmcp_speaks_to_it(stack: Stack, server: Server, item: dict[str, Any]) -> None:
    peer = Peer(client=fastmcp_client, refused=PYTHON_403, approves=True)
    play(peer, f"{server.url}/mcp", stack, item)
