"""One command call: validate, let a person approve where declared, settle.

Source: DESIGN §7; PROTOCOL §2 (the fingerprint once, and first).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from mcp.types import CallToolRequestParams, InputRequiredResult

from lib.contract import Command, OperationId
from lib.machinery.caller import Caller
from lib.machinery.catalogue import KEY
from lib.machinery.gate.approval import Approved, Unapproved, Unasked, ask, judge
from lib.machinery.inputs import InputError, command_arguments, key_problems
from lib.machinery.outcome import Forbidden, Invalid, KeyReused, NotExecuted, Outcome
from lib.machinery.runner.decide import NOT_BEGUN
from lib.machinery.runner.fingerprint import IndistinctError, UnfitForJsonError, fingerprint
from lib.machinery.runner.intent import Intent
from lib.machinery.runner.perform import perform
from lib.machinery.runner.record import Operation, Seen, operation
from lib.machinery.runner.store import StoreSilentError
from lib.machinery.runner.transitions import told

LOG = logging.getLogger("settle.calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How a call ended. operation_id: None where the key itself was invalid."""

    outcome: Outcome
    operation_id: OperationId | None
    approved_by_human: bool = False


async def settle(
    caller: Caller, command: Command[Any, Any], params: CallToolRequestParams, *, can_ask: bool
) -> Settled | InputRequiredResult:
    """Settle a command, or ask for the approval it needs.

    Args: can_ask: the client can put a form before its user.
    """
    sent = params.arguments or {}
    try:
        intent = _intent(caller, command, sent)
    except InputError as fault:
        return Settled(outcome=Invalid(str(fault)), operation_id=operation_id(caller, sent))
    if command.approval:
        return await _approved(caller, intent, params, can_ask=can_ask)
    return Settled(outcome=await _perform(caller, intent), operation_id=intent.operation.id)


def operation_id(caller: Caller, sent: Mapping[str, Any]) -> OperationId | None:
    """Name the operation of a call whose other arguments may be wrong."""
    key = sent.get(KEY)
    return None if key_problems(key) else _operation(caller, str(key)).id


def _intent(caller: Caller, command: Command[Any, Any], sent: Mapping[str, Any]) -> Intent:
    arguments = command_arguments(command, sent)
    try:
        digest = fingerprint(command.name, arguments)
    except UnfitForJsonError as fault:
        if isinstance(fault, IndistinctError):  # the tool's fault, which its caller cannot mend
            LOG.warning("arguments_indistinct", extra={"tool": command.name})
        raise InputError(fault.problem) from None
    return Intent(
        command=command,
        arguments=arguments,
        principal=caller.grant.principal,
        operation=_operation(caller, sent[KEY]),
        fingerprint=digest,
    )


def _operation(caller: Caller, key: str) -> Operation:
    return operation(caller.deployment.settings.vercel_env, caller.grant.principal, key)


async def _perform(caller: Caller, intent: Intent, *, may_begin: bool = True) -> Outcome:
    store, attempt = await caller.deployment.store(), caller.deployment.ambient.new_id()
    return await perform(intent, store, caller.deadline, attempt=attempt, may_begin=may_begin)


async def _approved(
    caller: Caller, intent: Intent, params: CallToolRequestParams, *, can_ask: bool
) -> Settled | InputRequiredResult:
    state_key = caller.deployment.settings.state_key or ""
    now_s = caller.deadline.clock.wall()
    verdict = judge(intent, params, state_key=state_key, now_s=now_s)
    name = intent.operation.id
    if isinstance(verdict, Approved):
        outcome = await _perform(caller, intent)
        return Settled(outcome=outcome, operation_id=name, approved_by_human=True)
    if verdict == Unapproved("declined"):
        return Settled(outcome=await _declined(caller, intent), operation_id=name)
    # Begun before, so approved before; where it was not, nothing begins here.
    outcome = await _perform(caller, intent, may_begin=False)
    if not isinstance(outcome, NotExecuted) or outcome.fault != NOT_BEGUN:
        return Settled(outcome=outcome, operation_id=name)
    match verdict:
        case Unasked() if can_ask:
            return ask(intent, state_key=state_key, now_s=now_s)
        case Unasked():
            refused = Forbidden(reason="approval_unavailable", side_effect="none")
        case Unapproved(reason):
            refused = Forbidden(reason=reason, side_effect="none")
        case _:
            assert_never(verdict)
    return Settled(outcome=refused, operation_id=name)


async def _declined(caller: Caller, intent: Intent) -> Outcome:
    store = await caller.deployment.store()
    try:
        held = await store.read(intent.operation.id)
    except StoreSilentError:
        return Forbidden(reason="declined", side_effect="unknown")
    match held:
        case None:
            return Forbidden(reason="declined", side_effect="none")
        case Seen(record=record) if record.fingerprint != intent.fingerprint:
            return KeyReused()
        case Seen(record=record, age_ms=age_ms) if not record.is_open:
            return told(record, age_ms)  # approved before, and settled: that is what is known
        case _:
            return Forbidden(reason="declined", side_effect="unknown")
