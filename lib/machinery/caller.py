"""Who is calling, where and until when: the facts of one request that tools and audit share.

Source: DESIGN §7.
"""

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime

from lib.contract import Command, OperationId, Scope, Tool
from lib.machinery.deployment import Deployment
from lib.machinery.describe import annotations
from lib.machinery.gate.audit import AuditEvent, Kind, Where, write
from lib.machinery.gate.decide import Allowed, Denied, Endpoint, Grant, decide, scopes_of
from lib.machinery.runner.deadline import Deadline


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
class Origin:
    """Where a request came in, and from: the route, the peer's address, the platform's id."""

    endpoint: Endpoint
    client: str | None
    request_id: str


@dataclass(slots=True, kw_only=True)
class Caller:
    """One authenticated request.

    lacks_scope: set by the handler that found one missing; the endpoint answers 403 with it.
    """

    deployment: Deployment
    grant: Grant
    deadline: Deadline
    origin: Origin
    lacks_scope: tuple[Scope, ...] | None = None

    def may(self, tool: Tool | None) -> Allowed | Denied:
        """Decide about one tool; None stands for a name that no tool has."""
        return decide(self.grant, self.deployment.reach, self.origin.endpoint, tool)

    def audit_list(self) -> None:
        """Write that the tools were listed, as far as the grant reaches."""
        write(self._event(None, Ended(outcome="succeeded", side_effect="none"), kind="list"))

    def audit_call(self, tool: Tool | None, ended: Ended) -> None:
        """Write what was decided about a call, and how it ended."""
        kind = None if tool is None else ("command" if isinstance(tool, Command) else "query")
        write(self._event(tool, ended, kind=kind))

    def _event(self, tool: Tool | None, ended: Ended, *, kind: Kind | None) -> AuditEvent:
        return AuditEvent(
            kind=kind,
            tool=None if tool is None else tool.name,
            actor=self.grant.principal,
            annotations=None if tool is None else annotations(tool),
            grant=tuple(self.grant.scopes),
            checked=None if tool is None else scopes_of(tool)[0],
            decision="refuse" if ended.is_refusal else "allow",
            reason=ended.reason,
            outcome=ended.outcome,
            side_effect=ended.side_effect,
            this_call=ended.this_call,
            operation_id=ended.operation_id,
            approved_by_human=ended.approved_by_human,
            **_where(self.deployment, self.deadline, self.origin),
        )


def audit_stranger(
    deployment: Deployment, deadline: Deadline, origin: Origin, *, reason: str
) -> None:
    """Write that a credential was refused, and why, not what it was."""
    where = _where(deployment, deadline, origin)
    write(AuditEvent(decision="refuse", reason=reason, **where))


def _where(deployment: Deployment, deadline: Deadline, origin: Origin) -> Where:
    clock = deadline.clock
    return {
        "at": datetime.fromtimestamp(clock.wall(), UTC),
        "endpoint": origin.endpoint,
        "client": origin.client,
        "request_id": origin.request_id,
        "latency_ms": 1000 * clock.since(deadline.started),
        "deployment_id": deployment.settings.vercel_deployment_id,
    }


# Set by the endpoint, for whatever answers its request.
CALLER: ContextVar[Caller] = ContextVar("settle.caller")
