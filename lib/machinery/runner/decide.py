"""The transition table: (record, age, event) to a decision. Pure; the shell obeys it.

A rule is one function of `TABLE`; for an event, the first that answers decides, and where none
does the record stays. What an absent record leads to stands in `_decide_absent`; one that cannot be
read never comes here. A rule that is taken out is missed: the explorer's mutants name each.
Source: PROTOCOL §4 (the table), §7 (the dispatch guard).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from lib.machinery.outcome import Fault, InDoubt, NotExecuted
from lib.machinery.runner import events as ev
from lib.machinery.runner import rules
from lib.machinery.runner.deadline import DISPATCH_MARGIN_S
from lib.machinery.runner.record import Record
from lib.machinery.runner.transitions import IN_DOUBT, RETRY_MS

NOT_BEGUN = Fault("not_begun", "Nothing was begun under this key.")

# Any: a rule takes cases of its own event; `decide` looks it up by the event's type.
type Rule = Callable[[ev.Case[Any]], ev.Decision | None]
type Table = Mapping[type[ev.Event], Sequence[Rule]]


def decide(
    record: Record | None, age_ms: int, event: ev.Event, table: Table | None = None
) -> ev.Decision:
    """Decide what becomes of an operation, and what its caller gets.

    Args:    record: what the store holds; None where it holds nothing.
             age_ms: the record's age by the store's clock.
             table: the rules; another only in the explorer, which takes rules out.
    Source:  PROTOCOL §4; where no rule applies the record stays and says what it knows.
    """
    if record is None:
        return _decide_absent(event)
    case = ev.Case(record, age_ms, event)
    family = ev.Report if isinstance(event, ev.Report) else type(event)
    for rule in (table or TABLE)[family]:
        decision = rule(case)
        if decision is not None:
            return decision
    return rules.kept(case)


def timed(decision: ev.Decision, *, age_ms: int, lag_ms: int) -> ev.Decision:
    """Count into a record's elapsed time what only the shell can know.

    Args: age_ms: of the record before; what is still open has it already.
          lag_ms: of trips to the store. Each takeover loses one or two, and a key window must
                  not be outlived by their sum.
    """
    if not isinstance(decision, ev.Write):
        return decision
    passed_ms = lag_ms if decision.record.is_open else age_ms + lag_ms
    late = replace(decision.record, elapsed_ms=decision.record.elapsed_ms + passed_ms)
    verdict = decision.verdict
    if isinstance(verdict, ev.Run | ev.Ask):
        verdict = replace(verdict, record=late)
    return replace(decision, record=late, verdict=verdict)


def may_send(*, remaining_s: float, lease_left_s: float, commit_budget_s: float) -> bool:
    """Tell whether there is time to send, to hear, and to write down what was heard."""
    return remaining_s >= commit_budget_s + DISPATCH_MARGIN_S and lease_left_s > 0


def _decide_absent(event: ev.Event) -> ev.Decision:
    match event:
        case ev.Claim(own=own, may_begin=True):
            return ev.Write(own, ev.Run(own))
        case ev.Claim():
            return ev.Keep(ev.Tell(NotExecuted(fault=NOT_BEGUN, after_ms=0)))
        case ev.Occurred(own=own):
            return rules.commit(own, event)
        case ev.Report():
            return rules.report_of_a_lost_record(event)
        case ev.Sweep() | ev.Resolve():
            return ev.Keep(ev.Tell(InDoubt(fault=IN_DOUBT, after_ms=RETRY_MS)))
        case _:
            assert_never(event)


TABLE: Table = {
    ev.Claim: (
        rules.claim_of_another_operation,
        rules.already_settled,
        rules.claim_sent_again,
        rules.still_running,
        rules.claim_inside_the_key_window,
        rules.dead_and_askable,
        rules.dead_and_unaskable,
    ),
    ev.Sweep: (
        rules.already_settled,
        rules.still_running,
        rules.dead_and_askable,
        rules.dead_and_unaskable,
    ),
    ev.Occurred: (
        rules.success_under_another_fingerprint,
        rules.success_of_an_open_operation,
        rules.success_after_a_refusal,
        rules.success_with_another_answer,
        rules.success_again,
    ),
    ev.Report: (
        rules.report_under_another_fingerprint,
        rules.report_of_another_attempt,
        rules.refusal_to_trust,
        rules.nothing_done,
        rules.absent_past_the_horizon,
        rules.owner_without_proof,
    ),
    ev.Resolve: (rules.operator_word,),
}
