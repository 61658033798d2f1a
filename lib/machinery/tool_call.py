"""A tool call, from the gate to the MCP result that says how it ended.

Source: MCP 2026-07-28 server/tools; DESIGN §6, §7.
"""

import math
from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolRequestParams, InputRequiredResult

from lib.contract import Command, Query, Tool
from lib.machinery.builtins import note
from lib.machinery.caller import Caller
from lib.machinery.commands import Settled, operation_id, settle
from lib.machinery.envelope import envelope, words
from lib.machinery.gate.audit import Ended
from lib.machinery.gate.decide import Denied
from lib.machinery.inputs import InputError
from lib.machinery.outcome import RATE_LIMITED, Forbidden, NotExecuted, StoreUnavailable
from lib.machinery.queries import COMPACT, Answered, QueryError, answer

type Limited = NotExecuted | StoreUnavailable
type Result = dict[str, Any]  # as it goes out


async def call_tool(
    caller: Caller, params: CallToolRequestParams, *, can_ask: bool
) -> Result | InputRequiredResult:
    """Answer one `tools/call`.

    Args:   can_ask: the client can put a form before its user.
    Raises: MCPError: no tool has this name.
    """
    tool = caller.deployment.catalogue.find(params.name)
    if tool is None:
        caller.audit_call(None, Ended(is_refusal=True, reason="unknown_tool"))
        raise MCPError(code=INVALID_PARAMS, message="Unknown tool")
    verdict = caller.may(tool)
    if isinstance(verdict, Denied):
        return _denied(caller, tool, verdict)
    sent, limited = params.arguments or {}, await _limited(caller)
    if isinstance(tool, Query):
        return await _query(caller, tool, sent, limited)
    if limited is not None:
        settled = Settled(outcome=limited, operation_id=operation_id(caller, sent))
    else:
        settled = await settle(caller, tool, params, can_ask=can_ask)
    if isinstance(settled, InputRequiredResult):
        caller.audit_call(tool, Ended(reason="approval_asked"))
        return settled
    return _conclude(caller, tool, settled)


async def _query(
    caller: Caller, query: Query[Any, Any], sent: Mapping[str, Any], limited: Limited | None
) -> Result:
    if isinstance(limited, NotExecuted):  # a silent store closes commands only
        caller.audit_call(query, _refused(RATE_LIMITED.code))
        wait_s = math.ceil(limited.after_ms / 1000)
        return _result(f"Too many calls. Try again after {wait_s} s.", is_error=True)
    try:
        answered = await answer(caller, query, sent)
    except InputError as fault:
        caller.audit_call(query, Ended(outcome="invalid", side_effect="none"))
        return _result(str(fault), is_error=True)
    except QueryError as fault:
        caller.audit_call(query, Ended(outcome="failed", side_effect="none"))
        return _result(str(fault), is_error=True)
    caller.audit_call(query, Ended(outcome="succeeded", side_effect="none"))
    return _result(note(query, answered.value), answered)


async def _limited(caller: Caller) -> Limited | None:
    per_minute = caller.deployment.settings.rate_limit_per_minute
    if per_minute is None:
        return None
    from lib.machinery.limit import counted

    return await counted(caller, per_minute)


def _denied(caller: Caller, tool: Tool, verdict: Denied) -> Result:
    if verdict.reason == "scope":
        caller.lacks_scope = verdict.scopes
    refused = Forbidden(reason=verdict.reason, side_effect="unknown")
    if isinstance(tool, Command):
        return _conclude(caller, tool, Settled(outcome=refused, operation_id=None))
    caller.audit_call(tool, _refused(verdict.reason))
    return _result(words(refused, None).text, is_error=True)


def _refused(reason: str) -> Ended:
    """End a query that was not let through: it fails, and changed nothing."""
    return Ended(is_refusal=True, reason=reason, outcome="failed", side_effect="none")


def _conclude(caller: Caller, command: Command[Any, Any], settled: Settled) -> Result:
    outcome, name = settled.outcome, settled.operation_id
    said = words(outcome, name)
    is_limited = isinstance(outcome, NotExecuted) and outcome.fault == RATE_LIMITED
    is_refusal = is_limited or isinstance(outcome, Forbidden)
    ended = Ended(
        is_refusal=is_refusal,
        reason=said.fault.code if said.fault and is_refusal else None,
        outcome=said.outcome,
        side_effect=said.side_effect,
        this_call=said.this_call,
        operation_id=name,
        approved_by_human=settled.approved_by_human,
    )
    caller.audit_call(command, ended)
    value = envelope(said, name)
    answered = Answered(value, COMPACT(value))
    return _result(said.text, answered, is_error=said.outcome != "succeeded")


def _result(
    text: str | None, answered: Answered | None = None, *, is_error: bool = False
) -> Result:
    texts = [] if text is None else [text]
    if answered is not None:
        texts.append(answered.text)
    result: Result = {
        "resultType": "complete",
        "content": [{"type": "text", "text": each} for each in texts],
        "isError": is_error,
    }
    if answered is not None:
        result["structuredContent"] = answered.value
    return result
