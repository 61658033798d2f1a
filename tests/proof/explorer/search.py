"""Breadth-first search of a world: the first promise broken has the shortest schedule."""

import gc
from collections import deque
from typing import NamedTuple

from lib.machinery.runner.decide import Table
from tests.proof.explorer.health import Health
from tests.proof.explorer.ledger import Ledger
from tests.proof.explorer.model import Move, Setting, State
from tests.proof.explorer.world import World


class Found(NamedTuple):
    """What a search saw: how many moments, all of them or not, and the promise that was broken."""

    states: int
    is_whole: bool
    broken: str
    schedule: tuple[Move, ...]

    def __str__(self) -> str:
        """The schedule, one move a line, and what it breaks."""
        lines = [f"{move.actor}: {move.does}" for move in self.schedule]
        return "\n".join([*lines, f"=> {self.broken or 'every promise kept'}"])


class Search:
    """Every moment that can be reached, each with the way there."""

    def __init__(self, setting: Setting, table: Table | None = None) -> None:
        """Take who acts, and the table; None for the real one."""
        self.ledger = Ledger(table)
        self.world = World(setting, self.ledger)
        self.health = Health(setting, self.ledger)
        self.states: list[State] = []
        self._from: list[tuple[int, Move] | None] = []

    def run(self, limit: int | None = None) -> Found:
        """Search until a promise breaks, or everything is seen, or `limit` moments are."""
        gc.disable()  # nothing here is a cycle, and looking for one costs a third of the time
        try:
            return self._run(limit)
        finally:
            gc.enable()

    def _run(self, limit: int | None) -> Found:
        start = self.world.start()
        known = {start}
        self.states, self._from = [start], [None]
        queue = deque([0])
        while queue and (limit is None or len(self.states) < limit):
            number = queue.popleft()
            state = self.states[number]
            for move, after, broken in self.world.moves(state):
                if not broken and after in known:
                    continue
                known.add(after)
                self.states.append(after)
                self._from.append((number, move))
                what = broken or self.health.check(after)
                if what:
                    last = len(self.states) - 1
                    schedule = tuple(move for _, move in self.way(last))
                    return Found(len(self.states), False, what, schedule)
                queue.append(len(self.states) - 1)
        return Found(len(self.states), not queue, "", ())

    def way(self, number: int) -> tuple[tuple[State, Move], ...]:
        """The moves that lead to one moment, each with the moment before it."""
        moves: list[tuple[State, Move]] = []
        step = self._from[number]
        while step is not None:
            number, move = step
            moves.append((self.states[number], move))
            step = self._from[number]
        return tuple(reversed(moves))
