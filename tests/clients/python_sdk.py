"""The Python SDK's own client, in both eras."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

from tests.clients.story import Answer, Step


def python_sdk(mode: str, url: str, steps: list[Step]) -> list[Answer]:
    """Take every step, each with a connection of its own."""

    async def take() -> list[Answer]:
        return [await one(mode, url, step) for step in steps]

    return asyncio.run(take())


@asynccontextmanager
async def connected(mode: str, url: str, key: str) -> AsyncGenerator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=agree) as client:
            yield client


async def agree(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001  its caller's names
    """Say yes, as a person would."""
    return ElicitResult(action="accept", content={"approve": True})


async def one(mode: str, url: str, step: Step) -> Answer:
    async with connected(mode, url, step.key) as client:
        if step.tool is None:
            return Answer(tools=[tool.name for tool in (await client.list_tools()).tools])
        try:
            result = await client.call_tool(step.tool, step.arguments)
        except MCPError as fault:
            return Answer(raised=str(fault))
    return Answer(
        structured=result.structured_content,
        text=getattr(result.content[0], "text", ""),
        is_error=bool(result.is_error),
    )
