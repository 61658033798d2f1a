"""The transition table: (record, age, event) to a decision. Pure; the shell obeys it.

Every rule of PROTOCOL §4 is one function of `TABLE`; for an event, the first that answers decides.
A rule that is taken out is missed: the explorer's list of mutants names each.
Source: PROTOCOL §4 (the table), §7 (the dispatch guard).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lib.machinery.outcome import Fault, InDoubt, NotExecuted
from lib.machinery.runner import rules
from lib.machinery.runner.events import (
    Ask,
    Case,
    Claim,
    Decision,
    Event,
    Keep,
    Occurred,
    Report,
    Resolve,
    Run,
    Sweep,
    Tell,
    Write,
)
from lib.machinery.runner.record import Record
from lib.machinery.runner.transitions import IN_DOUBT, RETRY_MS, told

NOT_BEGUN = Fault("not_begun", "Nothing was begun under this key.")
DISPATCH_MARGIN_S = 1.0  # between the last look at the clock and the bytes on the wire

# Any: a rule takes cases of its own event; `decide` looks it up by the event's type.
type Rule = Callable[[Case[Any]], Decision | None]
type Table = Mapping[type[Event], Sequence[Rule]]


def decide(
    record: Record | None, age_ms: int, event: Event, table: Table | None = None
) -> Decision:
    """Decide what becomes of an operation, and what its caller gets.

    Args:    record: what the store holds; None where it holds nothing.
             age_ms: the record's age by the store's clock.
             table: the rules; another only in the explorer, which takes rules out.
    Source:  PROTOCOL §4; where no rule applies the record stays and says what it knows.
    """
    if record is None:
        return _decide_absent(event)
    case = Case(record, age_ms, event)
    ordered = (TABLE if table is None else table)[_family(event)]
    decisions = (rule(case) for rule in ordered)
    kept = Keep(Tell(told(record, age_ms)))
    return next((found for found in decisions if found is not None), kept)


def timed(decision: Decision, *, age_ms: int, lag_ms: int) -> Decision:
    """Count into a record's elapsed time what only the shell can know.

    Args: age_ms: of the record before; what is still open has it already.
          lag_ms: of trips to the store. Each takeover loses one or two, and a key window must
                  not be outlived by their sum.
    """
    if not isinstance(decision, Write):
        return decision
    is_open = decision.record.state in {"started", "in_doubt"}
    passed_ms = lag_ms if is_open else age_ms + lag_ms
    late = replace(decision.record, elapsed_ms=decision.record.elapsed_ms + passed_ms)
    match decision.verdict:
        case Run():
            return replace(decision, record=late, verdict=Run(late))
        case Ask():
            return replace(decision, record=late, verdict=Ask(late))
        case Tell():
            return replace(decision, record=late)


def may_send(*, remaining_s: float, lease_left_s: float, commit_budget_s: float) -> bool:
    """Tell whether there is time to send, to hear, and to write down what was heard."""
    return remaining_s >= commit_budget_s + DISPATCH_MARGIN_S and lease_left_s > 0


def _family(event: Event) -> type[Event]:
    return Report if isinstance(event, Report) else type(event)


def _decide_absent(event: Event) -> Decision:
    match event:
        case Claim(own=own, may_begin=True):
            return Write(own, Run(own))
        case Claim():
            return Keep(Tell(NotExecuted(fault=NOT_BEGUN, after_ms=0)))
        case Occurred(own=own):
            return rules.commit(own, event)
        case Report():
            return rules.report_of_a_lost_record(event)
        case Sweep() | Resolve():
            return Keep(Tell(InDoubt(fault=IN_DOUBT, after_ms=RETRY_MS)))


TABLE: Table = {
    Claim: (
        rules.claim_of_another_operation,
        rules.claim_of_a_settled_operation,
        rules.claim_sent_again,
        rules.claim_while_running,
        rules.claim_inside_the_key_window,
        rules.claim_that_can_ask,
        rules.dead_and_unaskable,
    ),
    Sweep: (
        rules.sweep_of_a_settled_operation,
        rules.sweep_while_running,
        rules.sweep_that_can_ask,
        rules.dead_and_unaskable,
    ),
    Occurred: (
        rules.success_under_another_fingerprint,
        rules.success_of_an_open_operation,
        rules.success_after_a_refusal,
        rules.success_with_another_answer,
        rules.success_again,
    ),
    Report: (
        rules.report_under_another_fingerprint,
        rules.refusal_to_trust,
        rules.nothing_done,
        rules.absent_past_the_horizon,
        rules.owner_without_proof,
    ),
    Resolve: (rules.operator_word,),
}
