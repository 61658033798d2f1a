"""Every move that anyone can make next, from any moment of the world.

Callers, the sweeper and the operator obey the real table as `runner/perform.py` does; the moves
on the store are those of `claim.lua` and `swap.lua`; each may die anywhere, and wake late.
"""

from collections.abc import Iterator

from tests.proof.explorer import promises
from tests.proof.explorer.backend import aged, is_deaf, landed
from tests.proof.explorer.ledger import Ledger
from tests.proof.explorer.model import (
    HOUR_MS,
    LEASE_MS,
    Actor,
    Exchange,
    Move,
    Next,
    Setting,
    State,
)
from tests.proof.explorer.shell import DONE, LATE, Shell


class World:
    """One setting and the table under test."""

    def __init__(self, setting: Setting, ledger: Ledger) -> None:
        """Give every actor its code."""
        self.setting, self.ledger = setting, ledger
        crew = range(len(setting.crew()))
        self.shells = [Shell(setting, ledger, index=index) for index in crew]

    def start(self) -> State:
        """Nothing has happened yet."""
        actors = (Actor(),) * len(self.shells)
        return State(actors=actors, losses=self.setting.losses)

    def moves(self, state: State) -> Iterator[Next]:
        """Everything that may happen next."""
        for shell, actor in zip(self.shells, state.actors, strict=True):
            if actor.phase == "idle" and not self._may_start(state, shell):
                continue
            yield from shell.moves(state, actor)
        yield from self._landings(state)
        yield from self._time(state)
        if state.losses and state.record:
            gone = state._replace(record=0, age=0, losses=state.losses - 1, is_lost=True)
            yield Next(Move("store", "loses the record", Exchange("lose")), gone)

    def _may_start(self, state: State, shell: Shell) -> bool:
        """Calls are alike until they start, so one order stands for all."""
        if shell.kind != "call" or shell.index == 0:
            return True
        return state.actors[shell.index - 1].phase != "idle"

    def _landings(self, state: State) -> Iterator[Next]:
        """Requests that nobody waits for any more."""
        move = Move("backend", "receives a late request")
        record = self.ledger.record(state.record) if state.record else None
        for flight in dict.fromkeys(state.flights):
            if flight.waits >= 0:
                continue
            promise, rest = self.setting.sent_as(flight), list(state.flights)
            rest.remove(flight)
            for _, backend in landed(state.backend, promise, flight.who, flight.fly):
                if backend == state.backend:
                    continue
                if is_deaf(backend, promise):
                    rest = [one for one in rest if one.waits >= 0 or one.is_bare]
                after = state._replace(flights=tuple(rest), backend=backend)
                broken = ""
                if backend.effects != state.backend.effects:
                    broken = promises.effect_made(after, promise, record)
                yield Next(move, after, broken)

    def _time(self, state: State) -> Iterator[Next]:
        for ms in sorted(self._thresholds(state)):
            move = Move("time", f"passes: {ms} ms", Exchange("age", age=ms))
            yield Next(move, self._later(state, ms))

    def _thresholds(self, state: State) -> set[int]:
        """How far it is to what matters next, each measured from now."""
        promise, ahead = self.setting.backend, set[int]()
        if state.record:
            record = self.ledger.record(state.record)
            if record.state == "started":
                ahead.add(record.lease_ms - state.age)
            if record.state in promises.OPEN:
                ahead.add(record.horizon_ms - state.age)
                if promise.kind == "keyed":
                    ahead.add(self._last_inside(record.elapsed_ms) - state.age)
        if state.backend.key:
            ahead.add((promise.window_ms or 0) - state.backend.key_age)
        return {ms for ms in ahead if ms > 0}

    def _last_inside(self, elapsed_ms: int) -> int:
        """The last moment at which the key window still lets an attempt run."""
        return 9 * (self.setting.backend.window_ms or 0) // 10 - LEASE_MS - elapsed_ms

    def _later(self, state: State, ms: int) -> State:
        flights = (
            flight._replace(fly=flight.fly - ms) for flight in state.flights if flight.fly > ms
        )
        waited = {flight.waits for flight in state.flights if flight.fly > ms}
        actors = (
            self._aged(actor, ms, is_heard=place in waited)
            for place, actor in enumerate(state.actors)
        )
        return state._replace(
            age=self._capped(state.record, state.age + ms),
            actors=tuple(actors),
            flights=tuple(flights),
            backend=aged(state.backend, self.setting.backend, ms),
        )

    def _aged(self, actor: Actor, ms: int, *, is_heard: bool) -> Actor:
        """An attempt `ms` later; is_heard: its request may still be answered."""
        if actor.phase in {"idle", "done"}:
            return actor
        is_late = actor.clock + ms >= LEASE_MS and not self.setting.writes_late
        if is_late and self._is_over(actor, is_heard=is_heard):
            return DONE
        held = 0 if is_late else self._capped(actor.own, actor.held + ms)
        return actor._replace(clock=min(LEASE_MS, actor.clock + ms), held=held)

    def _is_over(self, actor: Actor, *, is_heard: bool) -> bool:
        """Past its lease an attempt writes nothing but a success: is nothing left of it?"""
        match actor.phase:
            case "swapping":
                return self.ledger.steps[actor.then].code[0] not in LATE
            case "sent":
                return not is_heard
            case _:
                return actor.phase in {"unsure", "asked"}

    def _capped(self, number: int, age: int) -> int:
        """An age beyond every threshold of its record says nothing more."""
        if not number:
            return 0
        record = self.ledger.record(number)
        if record.state not in promises.OPEN:
            return 0
        cap = max(record.lease_ms, record.horizon_ms)
        if record.backend.kind == "keyed":
            cap = max(cap, self._last_inside(record.elapsed_ms) + HOUR_MS)
        return min(cap, age)
