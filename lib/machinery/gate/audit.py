"""One JSON line per decision: who asked for what, what was decided, and how it ended.

Never arguments, tokens, bodies, or a name that the caller made up.
Source: DESIGN §7 (the fields, to which others are only ever added).
"""

import json
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic_core import to_json

from lib.contract import OperationId, Principal, Tool
from lib.machinery.describe import annotations
from lib.machinery.gate.decide import AGENT_KEY_ISSUER, Endpoint, Grant, scopes_of

LOG = logging.getLogger("settle.audit")

Kind = Literal["list", "query", "command"]
ESCAPED = json.JSONEncoder(separators=(",", ":")).encode  # a host's log may take ASCII only


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a request came in, and from: the route, the peer's address, the platform's ids."""

    endpoint: Endpoint
    client: str | None
    request_id: str
    deployment_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a decision about a call ended, in the audit's words; None: it came to no such thing."""

    is_refusal: bool = False
    reason: str | None = None
    outcome: str | None = None
    side_effect: str | None = None
    this_call: str | None = None
    operation_id: OperationId | None = None
    approved_by_human: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One decision. at_s: epoch seconds. latency_ms: since the request came in.

    grant: None where nobody was authenticated. tool: None where no declared one was named.
    kind: of the tool, or `list`.
    """

    at_s: float
    latency_ms: float
    origin: Origin
    ended: Ended
    grant: Grant | None = None
    tool: Tool | None = None
    kind: Kind | None = None


def write(event: AuditEvent) -> None:
    """Write the line, if anyone listens.

    Past `LOG.info`, which looks for the line of code that called it: always this one.
    """
    if LOG.isEnabledFor(logging.INFO):
        LOG.handle(LOG.makeRecord(LOG.name, logging.INFO, __name__, 0, line(event), (), None))


def line(event: AuditEvent) -> str:
    """Put an event in its documented form."""
    origin, ended, grant, tool = event.origin, event.ended, event.grant, event.tool
    fields = {
        "event": "decision",
        "ts": datetime.fromtimestamp(event.at_s, UTC).isoformat(timespec="milliseconds"),
        "kind": event.kind,
        "tool": None if tool is None else tool.name,
        "actor": None if grant is None else actor_name(grant.principal),
        "source": {"endpoint": origin.endpoint, "client": origin.client},
        "annotations": None if tool is None else annotations(tool),
        "grant": [] if grant is None else sorted(grant.scopes),
        "checked": None if tool is None else scopes_of(tool)[0],  # its kind's
        "decision": "refuse" if ended.is_refusal else "allow",
        "reason": ended.reason,
        "outcome": ended.outcome,
        "side_effect": ended.side_effect,
        "this_call": ended.this_call,
        "operation_id": ended.operation_id,
        "latency_ms": round(event.latency_ms, 3),
        "approved_by_human": ended.approved_by_human,
        "request_id": origin.request_id,
        "deployment_id": origin.deployment_id,
    }
    text = to_json(fields).decode()
    return text if text.isascii() else ESCAPED(fields)


def actor_name(principal: Principal) -> str:
    """Name a principal: an agent key by its id, anybody else by issuer and subject."""
    if principal.issuer == AGENT_KEY_ISSUER:
        return principal.subject
    return f"{principal.issuer} {principal.subject}"
