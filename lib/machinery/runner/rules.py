"""The rules of the transition table, each a function that decides or passes. Pure.

A rule's name is its sentence; their order stands in `decide.py`.
Source: PROTOCOL §4 (the table), §5 (classes, horizon, key window), §8 (what a retry is told).
"""

from lib.contract import ThisCall
from lib.machinery.outcome import InDoubt, KeyReused, NotExecuted, Rejected, Succeeded
from lib.machinery.runner.events import (
    Absent,
    Ask,
    Case,
    Claim,
    Decision,
    Erase,
    Keep,
    NotDone,
    Occurred,
    Refused,
    RefusedByKey,
    Report,
    Resolve,
    Run,
    Sweep,
    Tell,
    Write,
)
from lib.machinery.runner.record import Record
from lib.machinery.runner.transitions import (
    IN_DOUBT,
    RETRY_MS,
    cleared_to_run,
    committed,
    contradicted,
    doubted,
    in_doubt,
    is_inside_key_window,
    rejected,
    taken_over_to_ask,
    taken_over_to_run,
    told,
)


def claim_of_another_operation(case: Case[Claim]) -> Decision | None:
    if case.record.fingerprint != case.event.own.fingerprint:
        return Keep(Tell(KeyReused()))
    return None


def claim_of_a_settled_operation(case: Case[Claim]) -> Decision | None:
    return None if case.is_open else Keep(Tell(told(case.record, case.age_ms)))


def claim_sent_again(case: Case[Claim]) -> Decision | None:
    record = case.record
    if case.is_live and case.is_owned_by(case.event.own):
        return Keep(Run(record) if record.mode == "run" else Ask(record))
    return None


def claim_while_running(case: Case[Claim]) -> Decision | None:
    return Keep(Tell(told(case.record, case.age_ms))) if case.is_live else None


def claim_inside_the_key_window(case: Case[Claim]) -> Decision | None:
    own = case.event.own
    if not is_inside_key_window(case.record, case.age_ms, own.lease_ms):
        return None
    taken = taken_over_to_run(case.record, case.age_ms, own.attempt, own.lease_ms)
    return Write(taken, Run(taken))


def claim_that_can_ask(case: Case[Claim]) -> Decision | None:
    own = case.event.own
    return _ask(case, own.attempt, own.lease_ms)


def sweep_of_a_settled_operation(case: Case[Sweep]) -> Decision | None:
    return None if case.is_open else Keep(Tell(told(case.record, case.age_ms)))


def sweep_while_running(case: Case[Sweep]) -> Decision | None:
    return Keep(Tell(told(case.record, case.age_ms))) if case.is_live else None


def sweep_that_can_ask(case: Case[Sweep]) -> Decision | None:
    return _ask(case, case.event.attempt, case.event.lease_ms)


def dead_and_unaskable(case: Case[Claim] | Case[Sweep]) -> Decision | None:
    if case.record.state != "started":
        return None
    open_end = doubted(case.record, case.age_ms, fault=IN_DOUBT, was_sent=False)
    return Write(open_end, Tell(in_doubt(open_end, 0)))


def _ask(case: Case[Claim] | Case[Sweep], attempt: str, lease_ms: int) -> Decision | None:
    if not case.record.backend.can_ask:
        return None
    taken = taken_over_to_ask(case.record, case.age_ms, attempt, lease_ms)
    return Write(taken, Ask(taken))


def success_under_another_fingerprint(case: Case[Occurred]) -> Decision | None:
    if case.record.fingerprint != case.event.own.fingerprint:
        return Keep(succeeded(case.event, recorded=False), alarm="success_of_a_lost_record")
    return None


def success_of_an_open_operation(case: Case[Occurred]) -> Decision | None:
    return commit(case.record, case.event) if case.is_open else None


def success_after_a_refusal(case: Case[Occurred]) -> Decision | None:
    event = case.event
    if case.record.state != "rejected":
        return None
    done = committed(case.record, answer=event.answer, digest=event.digest, fault=event.fault)
    loud = contradicted(done, answer=None)
    return Write(loud, succeeded(event), alarm="success_after_a_refusal")


def success_with_another_answer(case: Case[Occurred]) -> Decision | None:
    first, event = case.record, case.event
    if event.was_recovered or None in (first.digest, event.digest):
        return None
    if first.digest == event.digest:
        return None
    loud = contradicted(first, answer=event.answer)
    return Write(loud, _first_answer(first, event), alarm="success_with_another_answer")


def success_again(case: Case[Occurred]) -> Decision | None:
    return Keep(_first_answer(case.record, case.event))


def _this_call(own: Record, *, was_recovered: bool = False) -> ThisCall:
    return "recovered" if own.epoch > 1 or was_recovered else "executed"


def succeeded(event: Occurred, *, recorded: bool = True) -> Tell:
    """Tell a success, as its evidence has it."""
    return Tell(
        Succeeded(
            answer=event.answer,
            this_call=_this_call(event.own, was_recovered=event.was_recovered),
            recorded=recorded,
            is_fresh=not (event.own.doubt or event.was_recovered),
            fault=event.fault,
        )
    )


def _first_answer(first: Record, event: Occurred) -> Tell:
    this_call = _this_call(event.own, was_recovered=event.was_recovered)
    return Tell(Succeeded(answer=first.answer, this_call=this_call, fault=first.fault))


def commit(record: Record, event: Occurred) -> Decision:
    """Settle with this answer, whoever brings it."""
    done = committed(record, answer=event.answer, digest=event.digest, fault=event.fault)
    return Write(done, succeeded(event))


def report_under_another_fingerprint(case: Case[Report]) -> Decision | None:
    """Say nothing of the other operation: it took the key after ours was released, or lost."""
    report = case.event
    if case.record.fingerprint == report.own.fingerprint:
        return None
    if report.may_have_landed:
        return Keep(Tell(InDoubt(fault=report.fault, after_ms=None, was_sent=report.was_sent)))
    return Keep(Tell(KeyReused()))


def report_of_a_lost_record(report: Report) -> Decision:
    """Keep the doubt where it can be asked about; elsewhere advise no retry that could harm.

    The record was lost, or taken away on proof: a retry would run again as if nothing had been.
    """
    own, fault, was_sent = report.own, report.fault, report.was_sent
    if report.may_have_landed and own.backend.kind == "lookup":
        open_end = doubted(own, 0, fault=fault, was_sent=was_sent)
        return Write(open_end, Tell(in_doubt(open_end, 0, was_sent=was_sent)))
    is_harmless = not report.may_have_landed or own.backend.kind != "none"
    after_ms = RETRY_MS if is_harmless else None
    return Keep(Tell(InDoubt(fault=fault, after_ms=after_ms, was_sent=was_sent)))


def refusal_to_trust(case: Case[Report]) -> Decision | None:
    report = case.event
    is_proven = isinstance(report, RefusedByKey) and case.record.backend.sticky
    if not isinstance(report, Refused | RefusedByKey) or not case.is_owned_by(report.own):
        return None
    if not is_proven and (case.record.doubt or report.doubt):
        return None
    refused = Rejected(fault=report.fault, this_call=_this_call(report.own))
    return Write(rejected(case.record, fault=report.fault), Tell(refused))


def nothing_done(case: Case[Report]) -> Decision | None:
    report = case.event
    if not isinstance(report, NotDone) or not case.is_owned_by(report.own):
        return None
    return None if case.record.doubt or report.doubt else _release(report)


def absent_past_the_horizon(case: Case[Report]) -> Decision | None:
    report = case.event
    if not isinstance(report, Absent) or not case.is_owned_by(report.own):
        return None
    if case.record.mode != "reconcile" or report.asked_age_ms < case.record.horizon_ms:
        return None
    if report.lease_ms is None:
        return _release(report)
    clear = cleared_to_run(case.record, case.age_ms, report.lease_ms)
    return Write(clear, Run(clear))


def owner_without_proof(case: Case[Report]) -> Decision | None:
    report = case.event
    if not case.is_owned_by(report.own):
        return None
    open_end = doubted(case.record, case.age_ms, fault=report.fault, was_sent=report.was_sent)
    after_ms = report.after_ms or 0
    unknown = in_doubt(open_end, 0, after_ms=after_ms, was_sent=report.was_sent)
    return Write(open_end, Tell(unknown))


def _release(report: Report) -> Decision:
    after_ms = RETRY_MS if report.after_ms is None else report.after_ms
    return Erase(Tell(NotExecuted(fault=report.fault, after_ms=after_ms)))


def operator_word(case: Case[Resolve]) -> Decision | None:
    is_due = case.is_open and not case.is_live and case.age_ms >= case.record.horizon_ms
    if not is_due or case.record != case.event.seen:
        return None
    fault = case.event.fault
    if case.event.occurred:
        settled = committed(case.record, answer=None, digest=None, fault=fault)
    else:
        settled = rejected(case.record, fault=fault)
    return Write(settled, Tell(told(settled, 0)))
