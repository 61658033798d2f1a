"""Catalogue to MCP tools, outcomes to MCP results, over the SDK's low-level server.

Results are wire dictionaries, built once where they can be: the SDK passes them on as they are.
Source: MCP 2026-07-28 server/tools; DESIGN §5, §6, §7.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from mcp.server import CacheHint, Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    InputRequiredResult,
    PaginatedRequestParams,
)
from starlette.requests import Request

from lib.contract import Command, Query, Tool
from lib.machinery.builtins import note
from lib.machinery.caller import CALLER, SCOPE_KEY, Caller, Ended
from lib.machinery.calls import Calls, QueryError
from lib.machinery.commands import Asking, Settled, settle
from lib.machinery.deployment import Deployment
from lib.machinery.describe import described, input_schema
from lib.machinery.envelope import envelope, words
from lib.machinery.gate.decide import Allowed, Denied
from lib.machinery.inputs import InputError
from lib.machinery.outcome import Fault, Forbidden, NotExecuted, StoreUnavailable

NAME = "settle"
LIST_TTL_MS = 300_000
DISCOVER_TTL_MS = 3_600_000
STORE_RETRY_MS = 2_000
INSTRUCTIONS = (
    "Queries change nothing. A command takes an idempotency_key and answers with what is known of "
    "its effect: read `outcome`, `side_effect` and `retry` before you call again."
)

RATE_LIMITED = Fault("rate_limited", "Too many calls within a minute.")

COMPLETE = {"resultType": "complete"}

type Limited = NotExecuted | StoreUnavailable
type Context = ServerRequestContext[Any, Any]
type Wire = dict[str, Any]


def mcp_server(deployment: Deployment) -> Server[Any]:
    """Build the MCP server of a deployment; the caller comes with each request."""
    schemas = {tool.name: tool for tool in deployment.catalogue.tools}

    def schema_of(name: str) -> Mapping[str, Any] | None:
        tool = schemas.get(name)
        return None if tool is None else input_schema(tool)

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
    # This way of adding handlers takes results that are wire dictionaries already.
    server.add_request_handler("tools/list", PaginatedRequestParams, _list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, _call_tool)
    return server


async def _list_tools(ctx: Context, _params: PaginatedRequestParams) -> Wire:
    caller = _caller(ctx)
    caller.audit_list()
    reached = [
        described(tool)
        for tool in caller.deployment.catalogue.tools
        if isinstance(caller.may(tool), Allowed)
    ]
    return {**COMPLETE, "tools": reached}


async def _call_tool(ctx: Context, params: CallToolRequestParams) -> Wire | InputRequiredResult:
    caller = _caller(ctx)
    CALLER.set(caller)
    tool = caller.deployment.catalogue.find(params.name)
    if tool is None:
        caller.audit_call(None, Ended(is_refusal=True, reason="unknown_tool"))
        raise MCPError(code=INVALID_PARAMS, message="Unknown tool")
    verdict = caller.may(tool)
    if isinstance(verdict, Denied):
        return _denied(caller, tool, verdict)
    calls = Calls(
        deployment=caller.deployment, principal=caller.grant.principal, deadline=caller.deadline
    )
    limited = await _limited(caller)
    if isinstance(tool, Query):
        return await _query(caller, calls, tool, params, limited)
    if limited is not None:
        operation_id = calls.operation_id(params.arguments or {})
        return _told(caller, tool, Settled(outcome=limited, operation_id=operation_id))
    asking = Asking(
        protocol_version=ctx.protocol_version, capabilities=ctx.session.client_capabilities
    )
    settled = await settle(calls, tool, params, asking)
    if isinstance(settled, InputRequiredResult):
        caller.audit_call(tool, Ended(reason="approval_asked"))
        return settled
    return _told(caller, tool, settled)


async def _query(
    caller: Caller,
    calls: Calls,
    query: Query[Any, Any],
    params: CallToolRequestParams,
    limited: Limited | None,
) -> Wire:
    if isinstance(limited, NotExecuted):  # a silent store closes commands only
        caller.audit_call(query, _refused(RATE_LIMITED.code))
        return _result(_beyond(limited), is_error=True)
    try:
        value = await calls.query(query, params.arguments or {})
    except InputError as fault:
        caller.audit_call(query, Ended(outcome="invalid", side_effect="none"))
        return _result(str(fault), is_error=True)
    except QueryError as fault:
        caller.audit_call(query, Ended(outcome="failed", side_effect="none"))
        return _result(str(fault), is_error=True)
    caller.audit_call(query, Ended(outcome="succeeded", side_effect="none"))
    return _result(note(value), value)


async def _limited(caller: Caller) -> Limited | None:
    per_minute = caller.deployment.settings.rate_limit_per_minute
    if per_minute is None:
        return None
    from lib.machinery.limit import Beyond, counted

    match await counted(caller, per_minute):
        case Beyond(after_ms):
            return NotExecuted(fault=RATE_LIMITED, after_ms=after_ms, side_effect="unknown")
        case "silent":
            return StoreUnavailable(after_ms=STORE_RETRY_MS)
        case "within":
            return None


def _beyond(limited: NotExecuted) -> str:
    return f"Too many calls. Try again after {math.ceil(limited.after_ms / 1000)} s."


def _denied(caller: Caller, tool: Tool, verdict: Denied) -> Wire:
    if verdict.reason == "scope":
        caller.lacks_scope = verdict.scopes
    refused = Forbidden(reason=verdict.reason, side_effect="unknown")
    if isinstance(tool, Command):
        return _told(caller, tool, Settled(outcome=refused, operation_id=None))
    caller.audit_call(tool, _refused(verdict.reason))
    return _result(words(refused, None).text, is_error=True)


def _refused(reason: str) -> Ended:
    """End a query that was not let through: it fails, and changed nothing."""
    return Ended(is_refusal=True, reason=reason, outcome="failed", side_effect="none")


def _told(caller: Caller, command: Command[Any, Any], settled: Settled) -> Wire:
    outcome, operation_id = settled.outcome, settled.operation_id
    said = words(outcome, operation_id)
    is_limited = isinstance(outcome, NotExecuted) and outcome.fault == RATE_LIMITED
    is_refusal = is_limited or isinstance(outcome, Forbidden)
    ended = Ended(
        is_refusal=is_refusal,
        reason=said.fault.code if said.fault and is_refusal else None,
        outcome=said.outcome,
        side_effect=said.side_effect,
        this_call=said.this_call,
        operation_id=operation_id,
        approved_by_human=settled.approved_by_human,
    )
    caller.audit_call(command, ended)
    return _result(said.text, envelope(said, operation_id), is_error=said.outcome != "succeeded")


def _result(text: str | None, value: Wire | None = None, *, is_error: bool = False) -> Wire:
    texts = [] if text is None else [text]
    if value is not None:
        texts.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    result: Wire = {**COMPLETE, "content": [{"type": "text", "text": each} for each in texts]}
    if value is not None:
        result["structuredContent"] = value
    return {**result, "isError": is_error}


def _caller(ctx: Context) -> Caller:
    request: Request | None = ctx.request
    if request is None:
        raise TypeError("this server is reached over HTTP only")
    return request.scope[SCOPE_KEY]
