"""Who is calling, where and until when: the facts of one request that tools and audit share.

Source: DESIGN §7.
"""

from contextvars import ContextVar
from dataclasses import dataclass

from lib.contract import Command, Scope, Tool
from lib.machinery.deployment import Deployment
from lib.machinery.gate.audit import AuditEvent, Ended, Kind, Origin, write
from lib.machinery.gate.decide import Allowed, Denied, Grant, decide
from lib.machinery.runner.deadline import Deadline


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

    def may(self, tool: Tool) -> Allowed | Denied:
        """Decide about one tool."""
        return decide(self.grant, self.deployment.reach, self.origin.endpoint, tool)

    def audit_list(self) -> None:
        """Write that the tools were listed, as far as the grant reaches."""
        self._audit(Ended(outcome="succeeded", side_effect="none"), kind="list")

    def audit_call(self, tool: Tool | None, ended: Ended) -> None:
        """Write what was decided about a call, and how it ended."""
        kind = None if tool is None else ("command" if isinstance(tool, Command) else "query")
        self._audit(ended, kind=kind, tool=tool)

    def _audit(self, ended: Ended, *, kind: Kind | None, tool: Tool | None = None) -> None:
        clock = self.deadline.clock
        event = AuditEvent(
            at_s=clock.wall(),
            latency_ms=1000 * clock.since(self.deadline.started),
            origin=self.origin,
            ended=ended,
            grant=self.grant,
            tool=tool,
            kind=kind,
        )
        write(event)


def audit_stranger(deadline: Deadline, origin: Origin, *, reason: str) -> None:
    """Write that a credential was refused, and why, not what it was."""
    clock = deadline.clock
    event = AuditEvent(
        at_s=clock.wall(),
        latency_ms=1000 * clock.since(deadline.started),
        origin=origin,
        ended=Ended(is_refusal=True, reason=reason),
    )
    write(event)


# Set by the endpoint, for whatever answers its request.
CALLER: ContextVar[Caller] = ContextVar("settle.caller")
