"""The README's diagram of states against the table itself: each arrow is one that is taken."""

import re
from pathlib import Path

from lib.machinery.runner.decide import decide
from tests.unit.test_decide import CLASSES, EVENTS, became, event_of, stored

README = Path(__file__).parents[2] / "README.md"
ARROW = re.compile(r"─+([a-z, ]*)─*▶ ([a-z_(), ]+?)(?:  | ─|$)", re.MULTILINE)
WORDS = {
    "success": "success",
    "refusal": "refused",
    "not executed": "not_done",
    "no evidence": "no_evidence",
}
ENDS = {"committed", "rejected", "released"}
# How `started` stands in the table's own test: owned without a doubt, with one, and only asking.
STARTED = {
    "started: run 1": "mine",
    "started: run 2 doubt": "mine_doubt",
    "started: reconcile 2 doubt": "asking",
}
NAMED = {**STARTED, "in_doubt": "in_doubt_due", "erased": "released"}


def arrows() -> list[tuple[str, str]]:
    """Read what leads where, from the diagram."""
    (drawn,) = re.findall(r"^```\n( claim .*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    return [(label.strip(), target.strip(" ()")) for label, target in ARROW.findall(drawn)]


def leads_to(state: str, event: str, kind: str) -> str:
    """Ask the table in which state an event leaves a record."""
    record, age_ms = stored(state, kind)
    left = became(record, decide(record, age_ms, event_of(event, kind, record)))
    return state if left.startswith("same") else NAMED.get(left, left.partition(":")[0])


def test_each_arrow_out_of_started_is_what_the_table_does_for_every_class() -> None:
    begins, *drawn = arrows()
    out = {NAMED.get(target, target) for _, target in drawn[:4]}
    assert begins == ("", "started")
    for kind in CLASSES:
        assert leads_to("absent", "claim", kind) == "mine"
        for label, target in drawn[:4]:
            assert leads_to("mine", WORDS[label], kind) == NAMED.get(target, target)
        assert {leads_to("mine", event, kind) for event in EVENTS} == {"mine", *out}


def test_a_doubt_ends_as_the_last_arrow_says_and_what_happened_stays() -> None:
    label, ends = arrows()[5]
    assert label == "retry, sweeper or operator"
    assert set(re.split(r", | or ", ends)) == ENDS
    for kind, backend in CLASSES.items():
        assert reached_from("in_doubt_due", kind) & ENDS == (
            ENDS if backend.can_ask else ENDS - {"released"}
        )
        assert reached_from("committed", kind) == {"committed"}
        assert reached_from("rejected", kind) == {"rejected", "committed"}


def reached_from(state: str, kind: str) -> set[str]:
    """Follow every event from a state, and from what it leads to, until nothing is new."""
    reached, left = {state}, [state]
    while left:
        found = {leads_to(left[-1], event, kind) for event in EVENTS} - reached
        left[-1:] = found - {"released"}
        reached |= found
    return reached
