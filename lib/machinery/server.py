"""Catalogue to MCP tools, over the SDK's low-level server; `tool_call.py` answers the calls.

Results are wire dictionaries, built once where they can be: the SDK passes them on as they are.
Source: MCP 2026-07-28 server/tools; DESIGN §5, §7.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from mcp.server import CacheHint, Server
from mcp.server.context import ServerRequestContext
from mcp.types import CallToolRequestParams, InputRequiredResult, PaginatedRequestParams
from opentelemetry import trace

from lib.machinery.caller import CALLER
from lib.machinery.deployment import Deployment
from lib.machinery.describe import described, mirrored_schema
from lib.machinery.gate.decide import Allowed, Endpoint, Grant, decide
from lib.machinery.pages.connect import NAME

LIST_TTL_MS = 300_000
DISCOVER_TTL_MS = 3_600_000
MAX_GRANTS = 256  # whose listings are kept; each holds one pointer per tool
INSTRUCTIONS = (
    "Queries change nothing. A command takes an idempotency_key and answers with what is known of "
    "its effect: read `outcome`, `side_effect` and `retry` before you call again."
)

COMPLETE = {"resultType": "complete"}

type Context = ServerRequestContext[Any, Any]


def is_traced() -> bool:
    """Tell whether anybody records spans: whoever does has said so before the first call."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def mcp_server(deployment: Deployment, *, with_spans: bool) -> Server[Any]:
    """Build the MCP server of a deployment; the caller comes with each request."""

    def schema_of(name: str) -> Mapping[str, Any] | None:
        tool = deployment.catalogue.find(name)
        return None if tool is None else mirrored_schema(tool)

    @lru_cache(MAX_GRANTS)
    def listed(grant: Grant, endpoint: Endpoint) -> dict[str, Any]:
        reached = [
            described(tool)
            for tool in deployment.catalogue.tools
            if isinstance(decide(grant, deployment.reach, endpoint, tool), Allowed)
        ]
        return {**COMPLETE, "tools": reached}

    async def list_tools(_ctx: Context, _params: PaginatedRequestParams) -> dict[str, Any]:
        caller = CALLER.get()
        caller.audit_list()
        return listed(caller.grant, caller.origin.endpoint)

    server = Server[Any](
        NAME,
        version="1",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="private"),
            "server/discover": CacheHint(ttl_ms=DISCOVER_TTL_MS, scope="public"),
        },
        get_tool_input_schema=schema_of,
    )
    if not with_spans:
        # What the SDK puts into this list by default would cost each call a twelfth of its time.
        server.middleware.clear()
    # This way of adding handlers takes results that are wire dictionaries already.
    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, _call_tool)
    return server


async def _call_tool(
    ctx: Context, params: CallToolRequestParams
) -> dict[str, Any] | InputRequiredResult:
    # And the runner with them, which a listing never needs.
    from lib.machinery.gate.approval import can_be_asked
    from lib.machinery.tool_call import call_tool

    can_ask = can_be_asked(ctx.protocol_version, ctx.session.client_capabilities)
    return await call_tool(CALLER.get(), params, can_ask=can_ask)
