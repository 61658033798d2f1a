"""What a command's caller reads: one envelope, and the sentences that say what to do next.

Source: DESIGN §6 (fields), PROTOCOL §8 (sentences).
"""

import json
import math
from dataclasses import dataclass
from typing import Any, Literal, assert_never

from lib.contract import OperationId
from lib.machinery import outcome as out
from lib.machinery.outcome import Fault, Outcome

NOTHING_SENT = "Nothing was sent by this call; what earlier calls did is not known now."
RESOLVED = "resolved_by_operator"
Advice = Literal["never", "same_key", "new_key"]

NOT_ALLOWED = {
    "preview": "this is a preview deployment, which has no credentials for commands",
    "readonly": "this endpoint serves queries only; connect to /mcp for commands",
    "scope": "the credential lacks the scope this tool needs",
    "declined": "the person who was asked did not approve it",
    "approval_unavailable": "a person must approve it, and this client cannot ask one",
    "approval_expired": "the approval has expired; call again without it to be asked again",
    "approval_mismatch": "the approval was given for something else",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One outcome in the envelope's words, and in a model's."""

    outcome: str
    side_effect: Literal["none", "occurred", "unknown"]
    text: str
    advice: Advice
    after_ms: int | None = None
    this_call: str = "not_executed"
    recorded: bool = True
    fault: Fault | None = None
    answer: str | None = None


def words(outcome: Outcome, operation_id: OperationId | None) -> Words:
    """Say an outcome; a settled one first, then what is not known, then what was refused."""
    match outcome:
        case out.Succeeded():
            return _succeeded(outcome)
        case out.Rejected():
            return _rejected(outcome)
        case out.InProgress(after_ms=after_ms):
            return Words(
                outcome="in_progress",
                side_effect="unknown",
                text="Still running. Do not use a new key.",
                advice="same_key",
                after_ms=after_ms,
                fault=Fault("in_progress", "Another attempt at this operation is running."),
            )
        case out.InDoubt():
            return _in_doubt(outcome, operation_id)
        case _:
            return _untouched(outcome)


def envelope(said: Words, operation_id: OperationId | None) -> dict[str, Any]:
    """Build the structured content; the stored answer goes in as it was stored."""
    fault = said.fault
    return {
        "outcome": said.outcome,
        "side_effect": said.side_effect,
        "this_call": said.this_call,
        "retry": {"advice": said.advice, "after_ms": said.after_ms},
        "operation_id": operation_id,
        "recorded": said.recorded,
        "result": None if said.answer is None else json.loads(said.answer),
        "error": None if fault is None else {"code": fault.code, "message": fault.message},
    }


def _succeeded(done: out.Succeeded) -> Words:
    text = "Done."
    if not done.recorded:
        text = "Done. Do not repeat it under a new key."
    elif done.this_call == "replayed" or (done.this_call == "recovered" and not done.is_fresh):
        text = "Done by an earlier call with this key; not executed again."
    return Words(
        outcome="succeeded",
        side_effect="occurred",
        text=text,
        advice="never",
        this_call=done.this_call,
        recorded=done.recorded,
        fault=done.fault,
        answer=done.answer,
    )


def _rejected(refused: out.Rejected) -> Words:
    who = f"Refused by the backend ({refused.fault.code})."
    if refused.fault.code == RESOLVED:
        who = "A person looked into it."
    return Words(
        outcome="rejected",
        side_effect="none",
        text=f"{who} Nothing happened. Change the request and use a new key.",
        advice="new_key",
        this_call=refused.this_call,
        recorded=refused.recorded,
        fault=refused.fault,
    )


def _in_doubt(doubt: out.InDoubt, operation_id: OperationId | None) -> Words:
    can_be_asked = doubt.after_ms is not None
    text = (
        f"It may have happened. {_again(doubt.after_ms)[:-1]} to find out."
        if can_be_asked
        else "It may have happened. Do not repeat it under a new key; a person has to check "
        f"(operation {operation_id})."
    )
    return Words(
        outcome="in_doubt",
        side_effect="unknown",
        text=text,
        advice="same_key" if can_be_asked else "never",
        after_ms=doubt.after_ms,
        this_call="executed" if doubt.was_sent else "not_executed",
        fault=doubt.fault,
    )


def _untouched(
    outcome: out.NotExecuted | out.KeyReused | out.Invalid | out.Forbidden | out.StoreUnavailable,
) -> Words:
    match outcome:
        case out.NotExecuted():
            return _not_executed(outcome)
        case out.Forbidden():
            return _forbidden(outcome)
        case out.KeyReused():
            return Words(
                outcome="key_reused",
                side_effect="none",
                text="This key was used for something else. "
                "For a different action choose a new key.",
                advice="new_key",
                fault=Fault("key_reused", "The key belongs to another tool or other arguments."),
            )
        case out.Invalid(problems=problems):
            return Words(
                outcome="invalid",
                side_effect="none",
                text=problems,
                advice="same_key",  # this may be the retry of a call that is in doubt
                fault=Fault("invalid", "The arguments break the tool's schema."),
            )
        case out.StoreUnavailable(after_ms=after_ms):
            return Words(
                outcome="store_unavailable",
                side_effect="unknown",
                text=NOTHING_SENT,
                advice="same_key",
                after_ms=after_ms,
                fault=Fault("store_unavailable", "The record could not be claimed or read."),
            )
        case _:
            assert_never(outcome)


def _not_executed(outcome: out.NotExecuted) -> Words:
    is_known = outcome.side_effect == "none"
    text = f"Nothing happened. {_again(outcome.after_ms)}"
    return Words(
        outcome="not_executed",
        side_effect=outcome.side_effect,
        text=text if is_known else NOTHING_SENT,
        advice="same_key",
        after_ms=outcome.after_ms,
        fault=outcome.fault,
    )


def _forbidden(outcome: out.Forbidden) -> Words:
    why = NOT_ALLOWED.get(outcome.reason, outcome.reason)
    can_be_asked_again = outcome.reason == "approval_expired"
    return Words(
        outcome="forbidden",
        side_effect=outcome.side_effect,
        text=f"Not allowed: {why}. Nothing was sent by this call.",
        advice="same_key" if can_be_asked_again else "never",
        after_ms=0 if can_be_asked_again else None,
        fault=Fault(outcome.reason, f"{why[:1].upper()}{why[1:]}."),
    )


def _again(after_ms: int | None) -> str:
    seconds = math.ceil((after_ms or 0) / 1000)
    return f"Retry with the same key and arguments after {seconds} s."
