"""FastMCP's client; its package is in the group `peers`, which is not installed by default."""

import asyncio
from importlib import import_module
from typing import Any

from mcp.shared.exceptions import MCPError

from tests.clients.story import Answer, Step


def fastmcp_client(url: str, steps: list[Step]) -> list[Answer]:
    """Take every step, each with a connection of its own."""

    async def take() -> list[Answer]:
        return [await one(url, step) for step in steps]

    return asyncio.run(take())


async def one(url: str, step: Step) -> Answer:
    # Types are checked without the group.
    fastmcp: Any = import_module("fastmcp")
    transports: Any = import_module("fastmcp.client.transports")

    async def agree(_message: str, kind: Any, _params: Any, _context: Any) -> Any:
        return kind(approve=True)

    headers = {"Authorization": f"Bearer {step.key}"}
    transport = transports.StreamableHttpTransport(url, headers=headers)
    async with fastmcp.Client(transport, elicitation_handler=agree) as client:
        if step.tool is None:
            return Answer(tools=[tool.name for tool in await client.list_tools()])
        try:
            result = await client.call_tool(step.tool, step.arguments, raise_on_error=False)
        except MCPError as fault:
            return Answer(raised=str(fault))
    return Answer(
        structured=result.structured_content,
        text=getattr(result.content[0], "text", ""),
        is_error=result.is_error,
    )
