"""The rules of the transition table, each a function that decides or passes. Pure.

A rule's name is its sentence; their order stands in `decide.py`.
Source: PROTOCOL §4 (the table), §5 (classes, horizon, key window).
"""

from dataclasses import replace

from lib.contract import ThisCall
from lib.machinery import outcome as out
from lib.machinery.runner import events as ev
from lib.machinery.runner import transitions as tr
from lib.machinery.runner.record import Record


def kept(case: ev.Case[ev.Event]) -> ev.Decision:
    """Change nothing, and say what is known."""
    return ev.Keep(ev.Tell(tr.told(case.trusted, case.age_ms)))


def claim_of_another_operation(case: ev.Case[ev.Claim]) -> ev.Decision | None:
    if case.record.fingerprint != case.event.own.fingerprint:
        return ev.Keep(ev.Tell(out.KeyReused()))
    return None


def already_settled(case: ev.Case[ev.Claim | ev.Sweep]) -> ev.Decision | None:
    return None if case.record.is_open else kept(case)


def claim_sent_again(case: ev.Case[ev.Claim]) -> ev.Decision | None:
    record = case.record
    if case.is_live and case.is_owned_by(case.event.own):
        return ev.Keep(ev.Run(record) if record.mode == "run" else ev.Ask(record))
    return None


def still_running(case: ev.Case[ev.Claim | ev.Sweep]) -> ev.Decision | None:
    return kept(case) if case.is_live else None


def claim_inside_the_key_window(case: ev.Case[ev.Claim]) -> ev.Decision | None:
    record, age_ms, event = case.trusted, case.age_ms, case.event
    if not tr.is_inside_key_window(record, age_ms, event.lease_ms):
        return None
    taken = tr.taken_over_to_run(record, age_ms, event.attempt, event.lease_ms)
    return ev.Write(taken, ev.Run(taken))


def dead_and_askable(case: ev.Case[ev.Claim | ev.Sweep]) -> ev.Decision | None:
    record, event = case.trusted, case.event
    if not record.backend.can_ask:
        return None
    taken = tr.taken_over_to_ask(record, case.age_ms, event.attempt, event.lease_ms)
    return ev.Write(taken, ev.Ask(taken))


def dead_and_unaskable(case: ev.Case[ev.Claim | ev.Sweep]) -> ev.Decision | None:
    if case.record.state != "started":
        return None
    open_end = tr.doubted(case.record, case.age_ms, fault=tr.IN_DOUBT, was_sent=False)
    told = replace(open_end, backend=case.trusted.backend)
    return ev.Write(open_end, ev.Tell(tr.in_doubt(told, 0)))


def success_under_another_fingerprint(case: ev.Case[ev.Occurred]) -> ev.Decision | None:
    if case.record.fingerprint != case.event.own.fingerprint:
        return ev.Keep(succeeded(case.event, recorded=False), alarm="success_of_a_lost_record")
    return None


def success_of_an_open_operation(case: ev.Case[ev.Occurred]) -> ev.Decision | None:
    return commit(case.record, case.event) if case.record.is_open else None


def success_after_a_refusal(case: ev.Case[ev.Occurred]) -> ev.Decision | None:
    if case.record.state != "rejected":
        return None
    loud = tr.contradicted(_committed(case.record, case.event), answer=None)
    return ev.Write(loud, succeeded(case.event), alarm="success_after_a_refusal")


def success_with_another_answer(case: ev.Case[ev.Occurred]) -> ev.Decision | None:
    first, event = case.record, case.event
    if event.was_recovered or None in (first.digest, event.digest):
        return None
    if first.digest == event.digest:
        return None
    loud = tr.contradicted(first, answer=event.answer)
    return ev.Write(loud, _first_answer(first, event), alarm="success_with_another_answer")


def success_again(case: ev.Case[ev.Occurred]) -> ev.Decision | None:
    return ev.Keep(_first_answer(case.record, case.event))


def commit(record: Record, event: ev.Occurred) -> ev.Decision:
    """Settle with this answer, whoever brings it."""
    return ev.Write(_committed(record, event), succeeded(event))


def succeeded(event: ev.Occurred, *, recorded: bool = True) -> ev.Tell:
    """Tell a success, as its evidence has it; in full, also where that cannot be kept."""
    is_kept = event.in_full is None or event.answer is not None
    return ev.Tell(
        out.Succeeded(
            answer=event.answer if is_kept else event.in_full,
            this_call=_this_call(event.own, was_recovered=event.was_recovered),
            recorded=recorded,
            is_fresh=not (event.own.doubt or event.was_recovered),
            fault=event.fault if is_kept else None,
        )
    )


def _committed(record: Record, event: ev.Occurred) -> Record:
    return tr.committed(record, answer=event.answer, digest=event.digest, fault=event.fault)


def _first_answer(first: Record, event: ev.Occurred) -> ev.Tell:
    this_call = _this_call(event.own, was_recovered=event.was_recovered)
    is_same = first.digest is not None and first.digest == event.digest
    if is_same and first.answer is None and event.in_full is not None:
        return ev.Tell(out.Succeeded(answer=event.in_full, this_call=this_call))
    return ev.Tell(out.Succeeded(answer=first.answer, this_call=this_call, fault=first.fault))


def _this_call(own: Record, *, was_recovered: bool = False) -> ThisCall:
    return "recovered" if own.epoch > 1 or was_recovered else "executed"


def report_under_another_fingerprint(case: ev.Case[ev.Report]) -> ev.Decision | None:
    """Say nothing of the other operation: it took the key after ours was released, or lost."""
    report = case.event
    if case.record.fingerprint == report.own.fingerprint:
        return None
    if report.may_have_landed:
        doubt = out.InDoubt(fault=report.fault, after_ms=None, was_sent=report.was_sent)
        return ev.Keep(ev.Tell(doubt))
    return ev.Keep(ev.Tell(out.KeyReused()))


def report_of_another_attempt(case: ev.Case[ev.Report]) -> ev.Decision | None:
    """Fence off whoever lost the operation: only a success counts from anybody."""
    return None if case.is_owned_by(case.event.own) else kept(case)


def report_of_a_lost_record(report: ev.Report) -> ev.Decision:
    """Keep the doubt where the backend would not notice a second request.

    The record was lost, or taken away on proof: a retry would run again as if nothing had been.
    """
    own, fault, was_sent = report.own, report.fault, report.was_sent
    if report.may_have_landed and own.backend.kind in {"lookup", "none"}:
        open_end = tr.doubted(own, 0, fault=fault, was_sent=was_sent)
        return ev.Write(open_end, ev.Tell(tr.in_doubt(open_end, 0, was_sent=was_sent)))
    return ev.Keep(ev.Tell(out.InDoubt(fault=fault, after_ms=tr.RETRY_MS, was_sent=was_sent)))


def refusal_to_trust(case: ev.Case[ev.Report]) -> ev.Decision | None:
    report, record = case.event, case.record
    if not isinstance(report, ev.Refused):
        return None
    is_proven = isinstance(report, ev.RefusedByKey) and record.backend.sticky
    if not is_proven and (record.doubt or report.doubt):
        return None
    refused = out.Rejected(fault=report.fault, this_call=_this_call(report.own))
    return ev.Write(tr.rejected(record, fault=report.fault), ev.Tell(refused))


def nothing_done(case: ev.Case[ev.Report]) -> ev.Decision | None:
    report = case.event
    if not isinstance(report, ev.NotDone) or case.record.doubt or report.doubt:
        return None
    return _release(report)


def absent_past_the_horizon(case: ev.Case[ev.Report]) -> ev.Decision | None:
    report, record = case.event, case.record
    if not isinstance(report, ev.Absent) or record.mode != "reconcile":
        return None
    if report.asked_age_ms < record.horizon_ms:
        return None
    if report.lease_ms is None:
        return _release(report)
    clear = tr.cleared_to_run(record, case.age_ms, report.lease_ms)
    return ev.Write(clear, ev.Run(clear))


def _release(report: ev.Report) -> ev.Decision:
    after_ms = tr.RETRY_MS if report.after_ms is None else report.after_ms
    return ev.Erase(ev.Tell(out.NotExecuted(fault=report.fault, after_ms=after_ms)))


def owner_without_proof(case: ev.Case[ev.Report]) -> ev.Decision | None:
    report = case.event
    open_end = tr.doubted(case.record, case.age_ms, fault=report.fault, was_sent=report.was_sent)
    after_ms = report.after_ms or 0
    unknown = tr.in_doubt(open_end, 0, after_ms=after_ms, was_sent=report.was_sent)
    return ev.Write(open_end, ev.Tell(unknown))


def operator_word(case: ev.Case[ev.Resolve]) -> ev.Decision | None:
    record, event = case.record, case.event
    is_due = record.is_open and not case.is_live and case.age_ms >= record.horizon_ms
    if not is_due or record != event.seen:
        return None
    if event.occurred:
        settled = tr.committed(record, answer=None, digest=None, fault=event.fault)
    else:
        settled = tr.rejected(record, fault=event.fault)
    return ev.Write(settled, ev.Tell(tr.told(settled, 0)))
