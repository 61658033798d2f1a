"""PROTOCOL §1 as checks on single moves; each answers the promise that was broken, or "".

What the store lost, or an operator got wrong, excuses what follows from it, but never two effects
where the backend deduplicates.
"""

from lib.machinery.outcome import (
    InDoubt,
    InProgress,
    KeyReused,
    NotExecuted,
    Outcome,
    Rejected,
    Succeeded,
)
from lib.machinery.runner.events import Ask, Run, Tell
from lib.machinery.runner.record import Guarantee, Record, narrowed
from tests.proof.explorer.backend import is_deaf
from tests.proof.explorer.ledger import Ledger, Step
from tests.proof.explorer.model import HOUR_MS, LEASE_MS, Actor, State, is_bare

OPEN = {"started", "in_doubt"}
POSITIVE = {"ok"}


def is_open(record: Record | None) -> bool:
    """Tell whether an outcome is still to come."""
    return record is not None and record.state in OPEN


def may_land(state: State, promise: Guarantee, who: int) -> bool:
    """Tell whether a request sent so far may still make an effect."""
    is_ignored = is_deaf(state.backend, promise)
    return any(one.who == who and (one.is_bare or not is_ignored) for one in state.flights)


def effect_made(state: State, promise: Guarantee, record: Record | None) -> str:
    """Check a state in which an effect was just made."""
    # Without the record a keyed backend guards alone, until it forgets the key.
    excused = state.is_lost and promise.kind != "unique"
    if max(state.backend.effects) > 1 and not excused:
        return "two effects"
    if state.is_lost or state.is_misled:
        return ""
    if record is not None and record.state == "rejected":
        return "an effect after 'rejected'"
    if record is None:
        return "an effect without a record"
    return ""


def decided(ledger: Ledger, record: Record | None, step: Step) -> str:
    """Check that a decision discards no evidence and sees what is settled."""
    kind, outcome = step.code[0], step.outcome
    if record is None:
        return _forgotten(ledger, step)
    if kind in POSITIVE:
        return _heard_success(ledger, record, step)
    is_settled = record.state not in OPEN and not _is_foreign(ledger, record, step)
    if is_settled and isinstance(outcome, InDoubt):
        return "'in doubt' where a settled record was seen"
    if kind in {"claim", "sweep"}:
        return _taken_up(ledger, step)
    if kind in {"refused", "by_key", "not_done"}:
        own = ledger.record(int(step.code[1] or 0))
        is_first_hand = record.state == "started" and record.attempt == own.attempt
        has_doubt = record.doubt or bool(step.code[2])
        has_proof = kind == "by_key" and record.backend.sticky
        if is_first_hand and (has_proof or not has_doubt) and isinstance(outcome, InDoubt):
            return "first-hand negative evidence discarded"
    return ""


def _taken_up(ledger: Ledger, step: Step) -> str:
    if step.code[0] == "claim" and _is_beyond(step, ledger.record(int(step.code[1] or 0)).backend):
        return "sent, asked, or told to find out, where the deployment cannot"
    is_written = step.new != 0 and ledger.record(step.new).state == "in_doubt"
    is_fenced = is_written or not isinstance(step.outcome, InDoubt)
    return "" if is_fenced else "a doubt told, and its owner not fenced off"


def _is_beyond(step: Step, declared: Guarantee) -> bool:
    """Tell whether a claim leads to what its own deployment declares that it cannot do."""
    match step.verdict:
        case Run(record=record) | Ask(record=record):
            return narrowed(record, declared) != record
        case Tell(InDoubt(after_ms=int())):
            return is_bare(declared) and not declared.can_ask
        case Tell():
            return False


def _forgotten(ledger: Ledger, step: Step) -> str:
    """The record is lost: would a retry run again what its own attempt doubts?"""
    if step.code[0] != "no_evidence" or not step.code[2]:
        return ""
    own = ledger.record(int(step.code[1] or 0))
    is_harmless = step.does == "write" or own.backend.kind in {"keyed", "unique"}
    return "" if is_harmless else "a doubt forgotten, and free to run again"


def _is_foreign(ledger: Ledger, record: Record, step: Step) -> bool:
    own = step.code[1]
    return isinstance(own, int) and ledger.record(own).fingerprint != record.fingerprint


def _heard_success(ledger: Ledger, record: Record, step: Step) -> str:
    own, outcome = ledger.record(int(step.code[1] or 0)), step.outcome
    if not isinstance(outcome, Succeeded):
        return "positive evidence discarded"
    if outcome.this_call == "replayed":
        return "'not executed again' where this call heard of the effect"
    if record.fingerprint != own.fingerprint:
        is_right = step.is_alarm and not outcome.recorded and step.does == "keep"
        return "" if is_right else "a success written over another operation"
    becomes = ledger.record(step.new) if step.new else None
    if becomes is None or becomes.state != "committed":
        return "positive evidence not kept"
    differs = record.state == "committed" and record.answer not in {None, step.code[2]}
    is_conflict = record.state == "rejected" or (differs and not step.code[3])
    if is_conflict and not (step.is_alarm and becomes.conflicts > record.conflicts):
        return "a conflict nobody is told of"
    return ""


def written(state: State, old: Record | None, new: Record | None, kind: str) -> str:
    """Check that one record may follow another. state: before the move; kind: of the event."""
    if old is None or new is None:
        return "" if old is None else _erased(state, old)
    if new.fingerprint != old.fingerprint or new.reference != old.reference:
        return "the record names another operation"
    is_kept = (new.state, new.answer) == ("committed", old.answer)
    if (old.state == "committed" and not is_kept) or (
        old.state == "rejected" and kind not in POSITIVE
    ):
        return "a settled answer changed"
    if _is_rejuvenated(state, old, new):
        return "the operation grew younger than its key"
    if new.state == "rejected" and old.state != "rejected":
        return _nothing_happened(state, old, "rejected")
    return ""


def _is_rejuvenated(state: State, old: Record, new: Record) -> bool:
    """Tell whether the new record forgets hours for which the backend has held the key."""
    hours = old.elapsed_ms + state.age - new.elapsed_ms
    is_keyed = old.backend.kind == new.backend.kind == "keyed"
    return is_keyed and new.state in OPEN and hours > 2 * HOUR_MS


def robbed(state: State, owner: Actor, old: Record, new: Record | None) -> str:
    """Check that a running owner loses its record to a success only."""
    is_live = old.state == "started" and state.age < old.lease_ms
    is_running = owner.phase != "done" and owner.clock < LEASE_MS
    is_success = new is not None and new.state == "committed"
    return "a live lease taken" if is_live and is_running and not is_success else ""


def _erased(state: State, old: Record) -> str:
    if old.state not in OPEN:
        return "a settled record erased"
    if state.told_person and not state.is_lost:
        return "a record erased that a person was told to look at"
    return _nothing_happened(state, old, "erased")


def _nothing_happened(state: State, old: Record, word: str) -> str:
    if state.is_lost or state.is_misled:
        return ""
    who = int(old.fingerprint[2:])
    if state.backend.effects[who]:
        return f"{word} though an effect exists"
    if may_land(state, old.backend, who):
        return f"{word} though an effect may still come"
    return ""


def told(state: State, who: int, name: str, seen: Record | None, outcome: Outcome) -> str:
    """Check what a caller is told against what is so."""
    match outcome:
        case Succeeded():
            return _told_success(state, who, outcome)
        case Rejected() | NotExecuted(side_effect="none"):
            excused = state.is_lost or state.is_misled
            is_true = excused or not state.backend.effects[who]
            return "" if is_true else "'nothing happened' though an effect exists"
        case InProgress():
            is_other = seen is not None and seen.attempt != name
            return "" if is_other else "'still running' said of itself"
        case KeyReused():
            is_other = seen is not None and seen.fingerprint != f"fp{who}"
            return "" if is_other else "'key reused' for the same operation"
        case _:
            return ""


def _told_success(state: State, who: int, outcome: Succeeded) -> str:
    if not state.backend.effects[who] and not state.is_misled:
        return "'succeeded' without an effect"
    if state.is_lost or outcome.answer is None:
        return ""
    return "" if outcome.answer == f"{who}.1" else "two answers"


def noted(state: State, who: int, outcome: Outcome) -> State:
    """Remember who was sent to a person about the operation that all but strangers are about."""
    match outcome:
        case InDoubt(after_ms=None) if who == 0:
            return state._replace(told_person=True)
        case _:
            return state
