"""The one decision about access: (grant, environment, endpoint, tool) to allow or a reason. Pure.

`tools/list`, `tools/call`, `list_toolsets` and the HTTP challenge all call it, so they cannot
disagree; the audit line says what the call was told. Anything unknown is refused.
Source: DESIGN §7; MCP 2026-07-28, basic/authorization (insufficient_scope).
"""

from dataclasses import dataclass
from typing import Any, Literal

from lib.contract import Command, Principal, Query, Scope, Tool

QUERY_SCOPE = Scope("call:tools")
COMMAND_SCOPE = Scope("call:write_tools")
AGENT_KEY_ISSUER = "settle:agent-key"  # no URL, so no JWT issuer can be it

Endpoint = Literal["/mcp", "/mcp/readonly"]
Reason = Literal["unknown_tool", "preview", "readonly", "scope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a principal was given, whatever credential showed it."""

    principal: Principal
    scopes: frozenset[Scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What this deployment can do at all.

    has_commands: it holds the credentials for commands; a preview does only with scratch systems.
    """

    has_commands: bool


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """The call may not go on. scopes: all that the tool needs, where a scope is missing."""

    reason: Reason
    scopes: tuple[Scope, ...] = ()


def decide(grant: Grant, reach: Reach, endpoint: str, tool: Tool | None) -> Allowed | Denied:
    """Decide whether a grant reaches a tool here.

    Args: tool: None where the name is unknown.
    """
    match tool:
        case Command():
            if not reach.has_commands:
                return Denied(reason="preview")
            if endpoint != "/mcp":
                return Denied(reason="readonly")
        case Query():
            if endpoint not in {"/mcp", "/mcp/readonly"}:
                return Denied(reason="readonly")
        case _:
            return Denied(reason="unknown_tool")
    needed = scopes_of(tool)
    if not grant.scopes.issuperset(needed):
        return Denied(reason="scope", scopes=needed)
    return Allowed()


def scopes_of(tool: Query[Any, Any] | Command[Any, Any]) -> tuple[Scope, ...]:
    """Name the scopes a tool needs: its kind's, and its own where it declares one."""
    kind = COMMAND_SCOPE if isinstance(tool, Command) else QUERY_SCOPE
    return (kind,) if tool.scope is None else (kind, tool.scope)
