"""The floor: the SDK's low-level server with one query on Starlette, a manager per request.

It checks nobody, writes no audit line and has no commands; what it costs is what MCP costs.
"""

import json
from typing import Any

from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tests.bench.items import ITEM

ITEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"item_id": {"type": "string"}},
    "required": ["item_id"],
}
TOOL = Tool(name="get_item", description="Read one item by its id.", input_schema=ITEM_SCHEMA)

type Context = ServerRequestContext[Any, Any]


async def list_tools(_ctx: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
    """Name the one tool."""
    return ListToolsResult(tools=[TOOL])


async def call_tool(_ctx: Context, params: CallToolRequestParams) -> CallToolResult:
    """Answer from memory."""
    item = {**ITEM, "id": (params.arguments or {}).get("item_id")}
    text = TextContent(type="text", text=json.dumps(item))
    return CallToolResult(content=[text], structured_content=item)


class Endpoint:
    """One route."""

    def __init__(self) -> None:
        """Build the server."""
        self.server = Server[Any](
            "bare",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            get_tool_input_schema=lambda _name: ITEM_SCHEMA,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        manager = StreamableHTTPSessionManager(app=self.server, stateless=True, json_response=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)


app = Starlette(routes=[Route("/mcp", Endpoint())])
