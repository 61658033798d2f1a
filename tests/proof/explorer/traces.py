"""What a store was told along a schedule, and what it must have answered (PROTOCOL §10.3).

A real engine that is moved the same way has to give the same verdicts. Time is the record's TTL:
where a step is `age`, the record has to be made that much older.
"""

from typing import Literal, NamedTuple

from lib.machinery.runner.record import Record
from tests.proof.explorer.model import Exchange, State
from tests.proof.explorer.search import Search


class Told(NamedTuple):
    """One move on the store, and its answer.

    seen, new: what a claim or a swap names; None stands for no record. ms: how much older.
    is_done: the move was made, now or before; otherwise `there` is the answer, `age_ms` old.
    """

    kind: Literal["claim", "swap", "read", "age", "lose"]
    seen: Record | None
    new: Record | None
    ms: int
    is_done: bool
    there: Record | None
    age_ms: int


def traces(search: Search, count: int) -> list[tuple[Told, ...]]:
    """Take `count` schedules of a finished search, evenly, the longest among them."""
    last = len(search.states) - 1
    step = max(1, last // count)
    return [trace(search, number) for number in range(last, 0, -step)][:count]


def trace(search: Search, number: int) -> tuple[Told, ...]:
    """What the store was told on the way to one moment of a search."""
    told: list[Told] = []
    age_ms = 0
    for before, move in search.way(number):
        if move.exchange is None:
            continue
        one = _told(search, before, move.exchange, age_ms)
        told.append(one)
        is_written = one.is_done and before.record != move.exchange.new
        age_ms = 0 if is_written else age_ms + one.ms
    return tuple(told)


def _told(search: Search, before: State, exchange: Exchange, age_ms: int) -> Told:
    there = _record(search, before.record)
    match exchange.kind:
        case "claim":
            is_done = there is None
        case "swap":
            is_done = before.record in {exchange.seen, exchange.new}
        case "read":
            is_done = False
        case "age" | "lose":
            return Told(exchange.kind, None, None, exchange.age, False, None, 0)
    seen, new = _record(search, exchange.seen), _record(search, exchange.new)
    if is_done:
        return Told(exchange.kind, seen, new, 0, True, None, 0)
    return Told(exchange.kind, seen, new, 0, False, there, age_ms)


def _record(search: Search, number: int) -> Record | None:
    return search.ledger.record(number) if number else None
