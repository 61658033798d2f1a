"""Ways to weaken one rule of the table; the rest of it stays the real one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lib.machinery.runner.decide import TABLE, Rule, Table
from lib.machinery.runner.events import (
    Ask,
    Case,
    Decision,
    Erase,
    Keep,
    Occurred,
    RefusedByKey,
    Report,
    Run,
    Verdict,
    Write,
)
from lib.machinery.runner.record import DAY_MS, Guarantee, Record

# Any: as in `decide.py`, a rule takes cases of its own event.
type Weaken = Callable[[Rule, Case[Any]], Decision | None]
type Name = tuple[str, str]  # of an event, and of a rule that answers it


def rules() -> list[Name]:
    """Name every rule of the real table, once for each event it answers."""
    return [(event.__name__, rule.__name__) for event, ordered in TABLE.items() for rule in ordered]


def weakened(name: Name, weaken: Weaken) -> Table:
    """Build the real table with one rule replaced by a weaker one."""

    def chosen(event: str, rule: Rule) -> Rule:
        return (lambda case: weaken(rule, case)) if (event, rule.__name__) == name else rule

    return {
        event: tuple(chosen(event.__name__, rule) for rule in ordered)
        for event, ordered in TABLE.items()
    }


def always(**_: Any) -> bool:
    """Guard nothing."""
    return True


def removed(_rule: Rule, _case: Case[Any]) -> Decision | None:
    """Never apply."""
    return None


def writing(**changes: Any) -> Weaken:
    """Apply, but store something else; a callable is given the case."""

    def weaken(rule: Rule, case: Case[Any]) -> Decision | None:
        decision = rule(case)
        return _rewritten(decision, _given(changes, case))

    return weaken


def believing(**changes: Any) -> Weaken:
    """Apply as if the record said something else."""

    def weaken(rule: Rule, case: Case[Any]) -> Decision | None:
        given = _given(changes, case)
        decision = rule(Case(replace(case.record, **given), case.age_ms, case.event))
        true = {name: getattr(case.record, name) for name in given if name == "backend"}
        return _rewritten(decision, true)

    return weaken


def hearing(**changes: Any) -> Weaken:
    """Apply as if the event said something else, where it says that at all."""

    def weaken(rule: Rule, case: Case[Any]) -> Decision | None:
        given = _given(changes, case)
        said = {name: it for name, it in given.items() if hasattr(case.event, name)}
        return rule(Case(case.record, case.age_ms, replace(case.event, **said)))

    return weaken


def aged(age_ms: Callable[[Case[Any]], int]) -> Weaken:
    """Apply as if the record had that age."""
    return lambda rule, case: rule(Case(case.record, age_ms(case), case.event))


def held_by(case: Case[Any]) -> Record:
    """Take whoever reports for the owner."""
    return case.record


def endless(case: Case[Any]) -> Guarantee:
    """The same backend, as if it never forgot a key."""
    return replace(case.record.backend, window_ms=1000 * DAY_MS)


def keeps_refusals(case: Case[Any]) -> Guarantee:
    """The same backend, as if it stored refusals under the key."""
    return replace(case.record.backend, sticky=True)


def deduplicates(case: Case[Any]) -> Guarantee:
    """The same backend, as if it refused a second effect."""
    return replace(case.record.backend, kind="unique")


def my_attempt(case: Case[Any]) -> str:
    """The attempt that asks."""
    return case.event.own.attempt


def its_attempt(case: Case[Any]) -> str:
    """The attempt that holds the record."""
    return case.record.attempt


def its_age(case: Case[Any]) -> int:
    """The record's age now."""
    return case.age_ms


def its_horizon_anew(case: Case[Any]) -> int:
    """The horizon of an attempt that sends."""
    return case.record.lease_ms + case.record.backend.settle_ms


def latest_answer(case: Case[Any]) -> str | None:
    """The answer just heard."""
    return case.event.answer


def only_the_owner(rule: Rule, case: Case[Occurred]) -> Decision | None:
    """Accept a success from the owner alone."""
    return rule(case) if case.is_owned_by(case.event.own) else None


def blind_to(*kinds: type[Report]) -> Weaken:
    """Never apply to reports of these kinds."""
    return lambda rule, case: None if isinstance(case.event, kinds) else rule(case)


def running(rule: Rule, case: Case[Any]) -> Decision | None:
    """Send where the rule would ask."""
    decision = rule(case)
    if isinstance(decision, Keep | Write) and isinstance(decision.verdict, Ask):
        return replace(decision, verdict=Run(decision.verdict.record))
    return decision


def deleting(rule: Rule, case: Case[Report]) -> Decision | None:
    """Free the key where nothing is known."""
    decision = rule(case)
    return Erase(decision.verdict) if isinstance(decision, Write) else decision


def silent(rule: Rule, case: Case[Any]) -> Decision | None:
    """Raise no alarm."""
    decision = rule(case)
    return decision and replace(decision, alarm=None)


def deaf_to_keys(rule: Rule, case: Case[Report]) -> Decision | None:
    """Doubt even what the key itself stored."""
    is_by_key = isinstance(case.event, RefusedByKey) and case.record.doubt
    return None if is_by_key else rule(case)


def _given(changes: dict[str, Any], case: Case[Any]) -> dict[str, Any]:
    return {name: it(case) if callable(it) else it for name, it in changes.items()}


def _rewritten(decision: Decision | None, changes: dict[str, Any]) -> Decision | None:
    if not isinstance(decision, Write):
        return decision
    record = replace(decision.record, **changes)
    verdict: Verdict = decision.verdict
    if isinstance(verdict, Run | Ask):
        verdict = type(verdict)(record)
    return replace(decision, record=record, verdict=verdict)
