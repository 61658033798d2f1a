"""No schedule of two attempts, and of whoever meddles, breaks a promise of PROTOCOL §1."""

from typing import Any

import pytest

from tests.proof.explorer.mutants import REMOVED, SHELL, WEAKENED
from tests.proof.explorer.search import Search
from tests.proof.explorer.settings import COMMIT, among
from tests.proof.explorer.traces import traces
from tests.proof.explorer.weaken import removed, rules, weakened

MUTANTS = [
    *((f"{event}.{rule} removed", who, weakened((event, rule), removed))
      for (event, rule), who in REMOVED.items()),
    *((one.what, one.setting, weakened(one.rule, one.weaken)) for one in WEAKENED),
    *((what, who, None) for what, who in SHELL.items()),
]  # fmt: skip
LIMIT = 60_000


@pytest.mark.parametrize(("backend", "actors"), COMMIT, ids=str)
def test_two_attempts_keep_every_promise_on_every_schedule(
    backend: str, actors: dict[str, Any]
) -> None:
    found = Search(among(backend, attempts=2, **actors)).run()
    assert not found.broken, str(found)
    assert found.is_whole


def test_every_rule_of_the_table_has_its_mutant() -> None:
    assert sorted(REMOVED) == sorted(rules())
    assert {one.rule for one in WEAKENED} <= set(REMOVED)


@pytest.mark.parametrize(("what", "who", "table"), MUTANTS, ids=[what for what, *_ in MUTANTS])
def test_a_table_without_one_of_its_rules_or_guards_breaks_a_promise(
    what: str, who: Any, table: Any
) -> None:
    found = Search(who, table).run(LIMIT)
    assert found.broken, f"{what}: nobody notices in {found.states} moments"
    assert found.schedule


@pytest.mark.parametrize(("what", "who"), [(what, who) for what, who, table in MUTANTS if table])
def test_the_real_table_keeps_its_promises_where_a_mutant_breaks_them(what: str, who: Any) -> None:
    found = Search(who).run(1_000)
    assert not found.broken, f"{what}: {found}"


def test_a_trace_begins_with_a_claim_that_is_stored_and_is_never_told_of_what_is_not_there() -> None:
    search = Search(among("lookup", attempts=2))
    search.run()
    found = traces(search, 50)
    assert len(found) == 50
    for told in found:
        first = next(one for one in told if one.kind == "claim")
        assert first.is_done
        assert all(one.is_done or one.there for one in told if one.kind in {"claim", "swap"})
