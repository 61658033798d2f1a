"""Ways to weaken one rule of the table; the rest of it stays the real one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lib.machinery.runner import events as ev
from lib.machinery.runner.decide import TABLE, Rule, Table
from lib.machinery.runner.record import DAY_MS, Guarantee, Record

# Any: as in `decide.py`, a rule takes cases of its own event.
type Weaken = Callable[[Rule, ev.Case[Any]], ev.Decision | None]
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


def removed(_rule: Rule, _case: ev.Case[Any]) -> ev.Decision | None:
    """Never apply."""
    return None


def writing(**changes: Any) -> Weaken:
    """Apply, but store something else; a callable is given the case."""

    def weaken(rule: Rule, case: ev.Case[Any]) -> ev.Decision | None:
        decision = rule(case)
        return _rewritten(decision, _given(changes, case))

    return weaken


def believing(**changes: Any) -> Weaken:
    """Apply as if the record said something else."""

    def weaken(rule: Rule, case: ev.Case[Any]) -> ev.Decision | None:
        given = _given(changes, case)
        decision = rule(ev.Case(replace(case.record, **given), case.age_ms, case.event))
        true = {name: getattr(case.record, name) for name in given if name == "backend"}
        return _rewritten(decision, true)

    return weaken


def hearing(**changes: Any) -> Weaken:
    """Apply as if the event said something else, where it says that at all."""

    def weaken(rule: Rule, case: ev.Case[Any]) -> ev.Decision | None:
        given = _given(changes, case)
        said = {name: it for name, it in given.items() if hasattr(case.event, name)}
        return rule(ev.Case(case.record, case.age_ms, replace(case.event, **said)))

    return weaken


def trusting(backend: Callable[[ev.Case[Any]], Guarantee]) -> Weaken:
    """Apply as if the record and the claiming deployment had that class."""

    def weaken(rule: Rule, case: ev.Case[Any]) -> ev.Decision | None:
        own = replace(case.event.own, backend=backend(case))
        claim = ev.Case(case.record, case.age_ms, replace(case.event, own=own))
        return believing(backend=backend)(rule, claim)

    return weaken


def aged(age_ms: Callable[[ev.Case[Any]], int]) -> Weaken:
    """Apply as if the record had that age."""
    return lambda rule, case: rule(ev.Case(case.record, age_ms(case), case.event))


def held_by(case: ev.Case[Any]) -> Record:
    """Take whoever reports for the owner."""
    return case.record


def endless(case: ev.Case[Any]) -> Guarantee:
    """The same backend, as if it never forgot a key."""
    return replace(case.record.backend, window_ms=1000 * DAY_MS)


def keeps_refusals(case: ev.Case[Any]) -> Guarantee:
    """The same backend, as if it stored refusals under the key."""
    return replace(case.record.backend, sticky=True)


def deduplicates(case: ev.Case[Any]) -> Guarantee:
    """The same backend, as if it refused a second effect."""
    return replace(case.record.backend, kind="unique")


def as_it_was(case: ev.Case[Any]) -> Guarantee:
    """The class that the record has."""
    return case.record.backend


def declared_as_it_was(case: ev.Case[Any]) -> Record:
    """What is claimed, as if its deployment declared the record's class."""
    return replace(case.event.own, backend=case.record.backend)


def my_attempt(case: ev.Case[Any]) -> str:
    """The attempt that asks."""
    return case.event.own.attempt


def its_attempt(case: ev.Case[Any]) -> str:
    """The attempt that holds the record."""
    return case.record.attempt


def its_age(case: ev.Case[Any]) -> int:
    """The record's age now."""
    return case.age_ms


def its_horizon_anew(case: ev.Case[Any]) -> int:
    """The horizon of an attempt that sends."""
    return case.record.lease_ms + case.record.backend.settle_ms


def latest_answer(case: ev.Case[Any]) -> str | None:
    """The answer just heard."""
    return case.event.answer


def only_the_owner(rule: Rule, case: ev.Case[ev.Occurred]) -> ev.Decision | None:
    """Accept a success from the owner alone."""
    return rule(case) if case.is_owned_by(case.event.own) else None


def blind_to(kind: type[ev.Report]) -> Weaken:
    """Never apply to reports of this kind."""
    return lambda rule, case: None if isinstance(case.event, kind) else rule(case)


def running(rule: Rule, case: ev.Case[Any]) -> ev.Decision | None:
    """Send where the rule would ask."""
    decision = rule(case)
    if isinstance(decision, ev.Keep | ev.Write) and isinstance(decision.verdict, ev.Ask):
        return replace(decision, verdict=ev.Run(decision.verdict.record))
    return decision


def deleting(rule: Rule, case: ev.Case[ev.Report]) -> ev.Decision | None:
    """Free the key where nothing is known."""
    decision = rule(case)
    return ev.Erase(decision.verdict) if isinstance(decision, ev.Write) else decision


def silent(rule: Rule, case: ev.Case[Any]) -> ev.Decision | None:
    """Raise no alarm."""
    decision = rule(case)
    return decision and replace(decision, alarm=None)


def deaf_to_keys(rule: Rule, case: ev.Case[ev.Report]) -> ev.Decision | None:
    """Doubt even what the key itself stored."""
    is_by_key = isinstance(case.event, ev.RefusedByKey) and case.record.doubt
    return None if is_by_key else rule(case)


def _given(changes: dict[str, Any], case: ev.Case[Any]) -> dict[str, Any]:
    return {name: it(case) if callable(it) else it for name, it in changes.items()}


def _rewritten(decision: ev.Decision | None, changes: dict[str, Any]) -> ev.Decision | None:
    if not isinstance(decision, ev.Write):
        return decision
    record = replace(decision.record, **changes)
    verdict: ev.Verdict = decision.verdict
    if isinstance(verdict, ev.Run | ev.Ask):
        verdict = type(verdict)(record)
    return replace(decision, record=record, verdict=verdict)
