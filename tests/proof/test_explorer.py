"""No schedule of two attempts, and of whoever meddles, breaks a promise of PROTOCOL §1."""

from typing import Any

import pytest

from lib.machinery.runner.record import encode
from tests.proof.explorer.mutants import SHELL, WEAKENED
from tests.proof.explorer.redeployed import REDEPLOYED
from tests.proof.explorer.removed import REMOVED
from tests.proof.explorer.search import Search
from tests.proof.explorer.settings import COMMIT, among
from tests.proof.explorer.traces import Told, traces
from tests.proof.explorer.weaken import removed, rules, weakened

MUTANTS = [
    *(
        (f"{event}.{rule} removed", who, weakened((event, rule), removed))
        for (event, rule), who in REMOVED.items()
    ),
    *((one.what, one.setting, weakened(one.rule, one.weaken)) for one in (*WEAKENED, *REDEPLOYED)),
    *((what, who, None) for what, who in SHELL.items()),
]
EXPLORED = {among(backend, attempts=2, **actors) for backend, actors in COMMIT}
LIMIT = 60_000
CONTROL = 12_000


@pytest.mark.parametrize(("backend", "actors"), COMMIT, ids=str)
def test_two_attempts_keep_every_promise_on_every_schedule(
    backend: str, actors: dict[str, Any]
) -> None:
    found = Search(among(backend, attempts=2, **actors)).run()
    assert not found.broken, str(found)
    assert found.is_whole


def test_every_rule_of_the_table_has_its_mutant() -> None:
    assert sorted(REMOVED) == sorted(rules())
    assert {one.rule for one in (*WEAKENED, *REDEPLOYED)} <= set(REMOVED)


@pytest.mark.parametrize(("what", "who", "table"), MUTANTS, ids=[what for what, *_ in MUTANTS])
def test_a_table_without_one_of_its_rules_or_guards_breaks_a_promise(
    what: str, who: Any, table: Any
) -> None:
    found = Search(who, table).run(LIMIT)
    assert found.broken, f"{what}: nobody notices in {found.states} moments"
    if table is not None and who not in EXPLORED:
        real = Search(who).run(min(found.states, CONTROL))
        assert not real.broken, f"the real table does no better: {real}"


def test_a_store_that_only_compares_gives_every_verdict_of_the_traces() -> None:
    search = Search(among("lookup", attempts=2, losses=1))
    search.run()
    exported = traces(search, 200)
    assert {one.kind for told in exported for one in told} >= {"claim", "swap", "age", "lose"}
    for told in exported:
        _replay(told)


def _replay(told: tuple[Told, ...]) -> None:
    stored, age_ms = "", 0
    for one in told:
        before, seen, new = stored, _text(one.seen), _text(one.new)
        match one.kind:
            case "claim":
                assert one.is_done == (stored == "")
                stored = stored or new
            case "swap":
                assert one.is_done == (stored in {seen, new})
                stored = new if one.is_done else stored
            case "lose":
                stored = ""
            case "age" | "read":
                pass
        if one.kind in {"claim", "swap"} and not one.is_done:
            assert (_text(one.there), one.age_ms) == (stored, age_ms if stored else one.age_ms)
        age_ms = 0 if stored != before else age_ms + one.ms


def _text(record: Any) -> str:
    return "" if record is None else encode(record)
