"""One JSON line per decision: who asked for what, what was decided, and how it ended.

Never arguments, tokens, bodies, or a name that the caller made up.
Source: DESIGN §7, the audit schema; fields are only ever added.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict

from lib.contract import Principal, Scope
from lib.machinery.gate.decide import AGENT_KEY_ISSUER

LOG = logging.getLogger("settle.audit")

Kind = Literal["list", "query", "command"]
ENCODED = json.JSONEncoder(separators=(",", ":")).encode


class Where(TypedDict):
    """When and where a decision was taken, and how long after the request came in."""

    at: datetime
    endpoint: str
    client: str | None
    request_id: str
    latency_ms: float
    deployment_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One decision. kind: of the tool, or `list`; None where no tool is known.

    tool: a declared name. actor: None where nobody was authenticated.
    endpoint, client: the route, and the address the call came from. checked: the tool's scope.
    """

    at: datetime
    endpoint: str
    client: str | None
    request_id: str
    latency_ms: float
    deployment_id: str | None
    decision: Literal["allow", "refuse"]
    reason: str | None = None
    kind: Kind | None = None
    tool: str | None = None
    actor: Principal | None = None
    annotations: dict[str, Any] | None = None
    grant: Sequence[Scope] = ()
    checked: Scope | None = None
    outcome: str | None = None
    side_effect: str | None = None
    this_call: str | None = None
    operation_id: str | None = None
    approved_by_human: bool = False


def write(event: AuditEvent) -> None:
    """Write the line, if anyone listens."""
    if LOG.isEnabledFor(logging.INFO):
        LOG.info(line(event))


def line(event: AuditEvent) -> str:
    """Put an event in its documented form."""
    return ENCODED(
        {
            "event": "decision",
            "ts": event.at.isoformat(timespec="milliseconds"),
            "kind": event.kind,
            "tool": event.tool,
            "actor": None if event.actor is None else actor_name(event.actor),
            "source": {"endpoint": event.endpoint, "client": event.client},
            "annotations": event.annotations,
            "grant": sorted(event.grant),
            "checked": event.checked,
            "decision": event.decision,
            "reason": event.reason,
            "outcome": event.outcome,
            "side_effect": event.side_effect,
            "this_call": event.this_call,
            "operation_id": event.operation_id,
            "latency_ms": round(event.latency_ms, 3),
            "approved_by_human": event.approved_by_human,
            "request_id": event.request_id,
            "deployment_id": event.deployment_id,
        }
    )


def actor_name(principal: Principal) -> str:
    """Name a principal: an agent key by its id, anybody else by issuer and subject."""
    if principal.issuer == AGENT_KEY_ISSUER:
        return principal.subject
    return f"{principal.issuer} {principal.subject}"
