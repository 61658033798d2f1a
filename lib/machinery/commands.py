"""One command call: validate, let a person approve where declared, settle.

Source: DESIGN §7 (approval: what is asked, when, and what each refusal says).
"""

from dataclasses import dataclass
from typing import Any

from mcp.types import CallToolRequestParams, ClientCapabilities, InputRequiredResult

from lib.contract import Command, OperationId
from lib.machinery.calls import Calls
from lib.machinery.gate.approval import (
    Approvals,
    Approved,
    Unapproved,
    Unasked,
    can_be_asked,
)
from lib.machinery.inputs import InputError
from lib.machinery.outcome import Forbidden, Invalid, KeyReused, NotExecuted, Outcome
from lib.machinery.runner.decide import NOT_BEGUN
from lib.machinery.runner.evidence import Intent
from lib.machinery.runner.perform import perform, perform_known
from lib.machinery.runner.record import Seen
from lib.machinery.runner.store import Store, StoreSilentError
from lib.machinery.runner.transitions import told


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How a call ended. operation_id: None where the key itself was invalid."""

    outcome: Outcome
    operation_id: OperationId | None
    approved_by_human: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What a client says of itself: its protocol revision, and what it can put to its user."""

    protocol_version: str
    capabilities: ClientCapabilities | None


async def settle(
    calls: Calls, command: Command[Any, Any], params: CallToolRequestParams, asking: Asking
) -> Settled | InputRequiredResult:
    """Settle a command, or ask for the approval it needs."""
    sent = params.arguments or {}
    try:
        intent = calls.intent(command, sent)
    except InputError as fault:
        return Settled(outcome=Invalid(str(fault)), operation_id=calls.operation_id(sent))
    if command.approval:
        return await _approved(calls, intent, params, asking)
    outcome = await perform(intent, await calls.deployment.store(), calls.bounds())
    return Settled(outcome=outcome, operation_id=intent.operation.id)


async def _approved(
    calls: Calls, intent: Intent, params: CallToolRequestParams, asking: Asking
) -> Settled | InputRequiredResult:
    settings = calls.deployment.settings
    now_s = calls.deployment.ambient.clock.wall()
    approvals = Approvals(state_key=settings.state_key or "", environment=settings.vercel_env)
    verdict = approvals.judge(intent, params, now_s=now_s)
    store, operation_id = await calls.deployment.store(), intent.operation.id
    if isinstance(verdict, Approved):
        outcome = await perform(intent, store, calls.bounds())
        return Settled(outcome=outcome, operation_id=operation_id, approved_by_human=True)
    if verdict == Unapproved("declined"):
        refused = await _declined(store, intent)
        return Settled(outcome=refused, operation_id=operation_id)
    # Begun before, so approved before; where it was not, nothing begins here.
    outcome = await perform_known(intent, store, calls.bounds())
    if not isinstance(outcome, NotExecuted) or outcome.fault != NOT_BEGUN:
        return Settled(outcome=outcome, operation_id=operation_id)
    match verdict:
        case Unasked() if can_be_asked(asking.protocol_version, asking.capabilities):
            return approvals.ask(intent, now_s=now_s)
        case Unasked():
            refused = Forbidden(reason="approval_unavailable", side_effect="none")
        case Unapproved(reason):
            refused = Forbidden(reason=reason, side_effect="none")
    return Settled(outcome=refused, operation_id=operation_id)


async def _declined(store: Store, intent: Intent) -> Outcome:
    try:
        held = await store.read(intent.operation.id)
    except StoreSilentError:
        return Forbidden(reason="declined", side_effect="unknown")
    match held:
        case None:
            return Forbidden(reason="declined", side_effect="none")
        case Seen(record=record) if record.fingerprint != intent.fingerprint:
            return KeyReused()
        case Seen(record=record, age_ms=age_ms) if record.state in {"committed", "rejected"}:
            return told(record, age_ms)  # approved before, and settled: that is what is known
        case _:
            return Forbidden(reason="declined", side_effect="unknown")
