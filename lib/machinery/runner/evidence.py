"""From one exchange with a backend to what it proves.

The one seam where a tool's exceptions become events; anything it did not name is no evidence.
Source: PROTOCOL §1 (three answers), §6 (what an exchange proves).
"""

import json
import logging
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Any

from pydantic import BaseModel, TypeAdapter

from lib.contract import (
    BackendError,
    Call,
    Command,
    Found,
    NotExecutedError,
    OccurredError,
    RefusedError,
)
from lib.machinery.outcome import Fault
from lib.machinery.runner import events as ev
from lib.machinery.runner.adapter import heard, said, shown
from lib.machinery.runner.fingerprint import UnfitForJsonError, canonical, fingerprint
from lib.machinery.runner.intent import Intent
from lib.machinery.runner.record import Record, is_fit_to_keep
from lib.machinery.runner.transitions import CONFLICT

LOG = logging.getLogger("settle.runner")
_EXACT = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode
NOT_KEPT = Fault("answer_not_kept", "It happened; the answer was too large or unfit to keep.")
SILENT = Fault("no_evidence", "The backend gave no answer that proves anything.")
ABSENT = Fault("absent", "The backend knows nothing of it yet.")
CANNOT_ASK = Fault("cannot_ask", "This deployment cannot ask the backend about it.")


async def send(
    intent: Intent, own: Record, *, timeout_s: float, doubt: bool
) -> ev.Occurred | ev.Report:
    """Send the request once, and classify what comes back.

    Args: doubt: an earlier send of this attempt stayed without evidence.
    """
    call = Call(principal=intent.principal, timeout_s=timeout_s, reference=own.reference)
    try:
        result = await heard(intent.command.perform, intent.arguments, call, timeout_s=timeout_s)
    except OccurredError as error:
        code, result = said(error)[0].code, shown(error, "result")
        is_duplicate = code == "duplicate"
        return _heard(intent.command.result, own, result, code=code, was_recovered=is_duplicate)
    except BackendError as error:
        fault, after_ms = said(error)
        return _report_of(error)(own=own, fault=fault, after_ms=after_ms, doubt=doubt)
    except Exception as fault:  # noqa: BLE001  three answers: an unknown fault proves nothing
        _log_unknown(fault)
        return ev.NoEvidence(own=own, fault=SILENT, doubt=doubt)
    return _heard(intent.command.result, own, result)


def _report_of(error: BackendError) -> type[ev.Report]:
    match error:
        case RefusedError():
            return ev.RefusedByKey if shown(error, "by_key") is True else ev.Refused
        case NotExecutedError():
            return ev.NotDone
        case _:
            return ev.NoEvidence


async def ask(
    command: Command[Any, Any] | None, own: Record, *, timeout_s: float, asked_age_ms: int
) -> ev.Occurred | ev.Report:
    """Ask the backend by reference what became of the operation; send nothing.

    Args: command: None where this deployment has no such command any more.
          asked_age_ms: the record's age now, at least.
    """
    if command is None or command.ask is None:
        return _unclear(own, CANNOT_ASK)
    call = Call(principal=own.principal, timeout_s=timeout_s, reference=own.reference)
    try:
        found = await heard(command.ask, call, timeout_s=timeout_s)
        return _compared(command.result, own, found, asked_age_ms)
    except BackendError as error:
        return _unclear(own, said(error)[0])
    except Exception as fault:  # noqa: BLE001  as above
        _log_unknown(fault)
        return _unclear(own, SILENT)


def _compared(
    declared: type[BaseModel], own: Record, found: list[Found[Any]], asked_age_ms: int
) -> ev.Occurred | ev.Report:
    match found:
        case []:
            # The shell fills in the lease under which it would run now.
            return ev.Absent(
                own=own, fault=ABSENT, was_sent=False, asked_age_ms=asked_age_ms, lease_ms=None
            )
        case [one] if fingerprint(own.tool, one.arguments) == own.fingerprint:
            return _heard(declared, own, one.result, was_recovered=True)
        case [_, *_]:
            return _unclear(own, CONFLICT)
        case _:  # no list at all: an adapter that has found nothing says so with an empty one
            return _unclear(own, SILENT)


def _unclear(own: Record, fault: Fault) -> ev.NoEvidence:
    return ev.NoEvidence(own=own, fault=fault, was_sent=False)


def _heard(
    declared: type[BaseModel],
    own: Record,
    result: object,
    *,
    code: str = "",
    was_recovered: bool = False,
) -> ev.Occurred:
    occurred = ev.Occurred(own=own, answer=None, was_recovered=was_recovered)
    if result is None:
        unread = Fault(code, "It happened; the answer could not be read.")
        return replace(occurred, fault=unread) if code else occurred
    try:
        text = _written(declared_fields(declared, result))
    except Exception as fault:  # noqa: BLE001  a tool's own model may raise anything: it occurred
        _log_unknown(fault)
        return replace(occurred, fault=NOT_KEPT)
    occurred = replace(occurred, digest=sha256(text).hexdigest(), in_full=text.decode())
    if not is_fit_to_keep(text):
        return replace(occurred, fault=NOT_KEPT)
    return replace(occurred, answer=occurred.in_full)


def _written(fields: dict[str, Any]) -> bytes:
    try:
        return canonical(fields)
    except UnfitForJsonError:
        # RFC 8785 writes no integer beyond a float's, but JSON does. What is no JSON raises.
        return _EXACT(fields).encode()


def declared_fields(declared: type[BaseModel], result: object) -> dict[str, Any]:
    """Give the fields that a tool declared, as plain JSON; a subclass's own stay behind.

    Raises: ValueError: it does not fit.
    """
    if not isinstance(result, declared):
        result = declared.model_validate(result, from_attributes=True)
    return _adapter(declared).dump_python(result, mode="json")


@cache
def _adapter(declared: type[BaseModel]) -> TypeAdapter[BaseModel]:
    # A model's own dump would add what a subclass has; an adapter costs more than a whole dump.
    return TypeAdapter(declared)


def _log_unknown(fault: Exception) -> None:
    LOG.warning("backend_fault", extra={"fault": type(fault).__name__})
