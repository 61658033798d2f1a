"""A tool call, from the gate to the MCP result that says how it ended.

Source: MCP 2026-07-28 server/tools; DESIGN §6, §7.
"""

import math
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolRequestParams, InputRequiredResult

from lib.contract import Command, Query, Tool
from lib.machinery.builtins import note
from lib.machinery.caller import CALLER, Caller, Ended
from lib.machinery.calls import COMPACT, Answered, Calls, QueryError
from lib.machinery.commands import Asking, Settled, settle
from lib.machinery.envelope import envelope, words
from lib.machinery.gate.decide import Denied
from lib.machinery.inputs import InputError
from lib.machinery.outcome import Fault, Forbidden, NotExecuted, StoreUnavailable
from lib.machinery.runner.holding import STORE_RETRY_MS

RATE_LIMITED = Fault("rate_limited", "Too many calls within a minute.")

type Limited = NotExecuted | StoreUnavailable
type Wire = dict[str, Any]


async def called(
    caller: Caller, params: CallToolRequestParams, asking: Asking
) -> Wire | InputRequiredResult:
    """Answer one `tools/call`.

    Raises: MCPError: no tool has this name.
    """
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
        answer = await calls.query(query, params.arguments or {})
    except InputError as fault:
        caller.audit_call(query, Ended(outcome="invalid", side_effect="none"))
        return _result(str(fault), is_error=True)
    except QueryError as fault:
        caller.audit_call(query, Ended(outcome="failed", side_effect="none"))
        return _result(str(fault), is_error=True)
    caller.audit_call(query, Ended(outcome="succeeded", side_effect="none"))
    return _result(note(answer.value), answer)


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
    value = envelope(said, operation_id)
    answer = Answered(value, COMPACT(value))
    return _result(said.text, answer, is_error=said.outcome != "succeeded")


def _result(text: str | None, answer: Answered | None = None, *, is_error: bool = False) -> Wire:
    texts = [] if text is None else [text]
    if answer is not None:
        texts.append(answer.text)
    result: Wire = {
        "resultType": "complete",
        "content": [{"type": "text", "text": each} for each in texts],
        "isError": is_error,
    }
    if answer is not None:
        result["structuredContent"] = answer.value
    return result
