"""What one attempt, sweep or operator may do next; the mirror of `runner/perform.py`.

Beyond it the model lets a caller whose swap stayed silent claim again, which PROTOCOL §3 allows.
"""

from collections.abc import Iterator

from lib.machinery.outcome import Outcome
from lib.machinery.runner.events import Ask, Run, Tell
from lib.machinery.runner.holding import unwritten
from lib.machinery.runner.record import Record
from tests.proof.explorer import promises
from tests.proof.explorer.backend import answer, landed, orphaned, shown
from tests.proof.explorer.ledger import Ledger, reported
from tests.proof.explorer.model import (
    LEASE_MS,
    Actor,
    Backend,
    Code,
    Exchange,
    Flight,
    Move,
    Next,
    Setting,
    State,
    fresh,
    is_bare,
)

DONE = Actor(phase="done")
LATE = {"ok", "resolve"}  # what may still be written past a lease
AMPLE_S = 1_000.0  # ample: in the model an attempt ends with its lease
BUDGET_S = 3.0


class Shell:
    """One actor's code: from a moment to the moments that may follow."""

    def __init__(self, setting: Setting, ledger: Ledger, *, index: int) -> None:
        """Take a place among the actors; the last caller may be a stranger."""
        self.setting, self.ledger, self.index = setting, ledger, index
        self.name, self.kind = setting.crew()[index]
        self.who = int(setting.stranger and index == setting.attempts - 1)
        self.promise = setting.declared_by(index)
        self.own = ledger.id(fresh(self.promise, self.name, self.who))
        self._place = {other: place for place, (other, _) in enumerate(setting.crew())}
        self._phases = {
            "idle": self._starts,
            "unsure": self._doubts_its_claim,
            "swapping": self._swaps,
            "ready": self._sends,
            "sent": self._waits,
            "asking": self._asks,
            "asked": self._takes,
        }

    def moves(self, state: State, actor: Actor) -> Iterator[Next]:
        """Everything this actor may do next, its death among it."""
        if actor.phase == "done":
            return
        yield from self._phases[actor.phase](state, actor)
        if actor.phase != "idle":
            yield self._next(
                "dies", orphaned(self._put(state, DONE), self.promise, self.index, LEASE_MS)
            )

    def _starts(self, state: State, actor: Actor) -> Iterator[Next]:
        if self.kind == "call":
            yield from self._claims(state, actor)
        elif state.record and self.kind == "sweep":
            yield self._reads(state, ("sweep", self.name))
        elif state.record:
            occurred = bool(state.backend.effects[0])
            yield self._reads(state, ("resolve", state.record, occurred, False))
            if self.setting.errs:
                yield self._reads(state, ("resolve", state.record, not occurred, True))

    def _reads(self, state: State, code: Code) -> Next:
        read = Exchange("read", seen=state.record)
        return self._obey(state, Actor(), code, state.record, move=Move(self.name, "reads", read))

    def _claims(self, state: State, actor: Actor) -> Iterator[Next]:
        """`claim.lua`: stored if nothing is there, else what is there."""
        exchange = Exchange("claim", seen=state.record, new=self.own)
        after = state if state.record else state._replace(record=self.own, age=0)
        unsure = actor._replace(phase="unsure")
        yield self._next("claims, the reply is lost", self._put(after, unsure), exchange)
        move = Move(self.name, "claims", exchange)
        if state.record:
            yield self._obey(state, actor, ("claim", self.own), state.record, move=move)
        else:
            ready = actor._replace(phase="ready", own=self.own, held=0)
            yield Next(move, self._put(after, ready))

    def _doubts_its_claim(self, state: State, actor: Actor) -> Iterator[Next]:
        """Claim again, or take back what may be stored: its own first record, and no other."""
        yield from self._claims(state, actor)
        then = self.ledger.decide(self.own, 0, ("not_done", self.own, False, False))
        seen = self.own if self.setting.takes_back_its_own else state.record
        back = Actor("swapping", actor.clock, seen=seen, then=then)
        yield self._next("takes its claim back", self._put(state, back))

    def _swaps(self, state: State, actor: Actor) -> Iterator[Next]:
        """`swap.lua`: compare and store; yes again where the new one is there already."""
        step = self.ledger.steps[actor.then]
        if step.code[0] in LATE or self.setting.writes_late or actor.clock < LEASE_MS:
            yield from self._swapped(state, actor)
        if step.code[0] == "claim":
            unsure = Actor(phase="unsure", clock=actor.clock)
            yield self._next("may claim again", self._put(state, unsure))
        silent = unwritten(step.verdict, was_sent=True)
        assert isinstance(silent, Tell)  # nothing goes on under a record that may not be there
        yield self._told(state, silent.outcome, 0, "hears no reply")

    def _swapped(self, state: State, actor: Actor) -> Iterator[Next]:
        step = self.ledger.steps[actor.then]
        exchange = Exchange("swap", seen=actor.seen, new=actor.new)
        move = Move(self.name, f"swaps ({step.code[0]})", exchange)
        if state.record not in {actor.seen, actor.new}:
            yield self._obey(state, actor, step.code, state.record, move=move)
            return
        after, broken = state, ""
        if state.record != actor.new:
            is_lie = step.code[0] == "resolve" and bool(step.code[3])
            after = state._replace(is_misled=state.is_misled or is_lie)
            old, new = (self._record(number) for number in (state.record, actor.new))
            broken = promises.written(after, old, new, str(step.code[0]))
            if old is not None and old.attempt != self.name:
                owner = state.actors[self._place[old.attempt]]
                broken = promises.robbed(state, owner, old, new) or broken
            told_person = after.told_person and promises.is_open(new)
            after = after._replace(record=actor.new, age=0, told_person=told_person)
            lost = Move(self.name, f"swaps ({step.code[0]}), the reply is lost", exchange)
            yield Next(lost, after, broken)
        yield self._follows(after, actor, move, broken)

    def _follows(self, state: State, actor: Actor, move: Move, broken: str) -> Next:
        """Go on as decided, now that what was decided is stored."""
        step = self.ledger.steps[actor.then]
        match step.verdict:
            case Run() | Ask():
                phase = "ready" if isinstance(step.verdict, Run) else "asking"
                held = state.age if step.does == "keep" else 0
                went = actor._replace(phase=phase, own=step.own, held=held, seen=0, new=0, then=0)
                return Next(move, self._put(state, went), broken)
            case Tell(outcome):
                found = self._told(state, outcome, actor.seen, move.does)
                return Next(move, found.state, broken or found.broken)

    def _sends(self, state: State, actor: Actor) -> Iterator[Next]:
        """The dispatch guard, then the request; or an end before anything is sent."""
        left_s = (LEASE_MS - actor.clock) / 1000
        if self.setting.guard(remaining_s=AMPLE_S, lease_left_s=left_s, commit_budget_s=BUDGET_S):
            fly = LEASE_MS - actor.clock + self.promise.settle_ms
            flight = Flight(self.who, fly, self.index, is_bare(self.promise))
            sent = actor._replace(phase="sent", sends=actor.sends + 1)
            flights = tuple(sorted((*state.flights, flight)))
            after = self._put(state, sent)._replace(flights=flights)
            yield self._next("sends", after)
        if actor.sends:
            yield self._hears(state, actor, ("no_evidence", actor.own, True), "stops sending")
        else:
            code = ("not_done", actor.own, False, False)
            yield self._hears(state, actor, code, "stops before sending")

    def _waits(self, state: State, actor: Actor) -> Iterator[Next]:
        """The request lands and is heard of, or not; or nobody waits any longer."""
        for flight in state.flights:
            if flight.waits == self.index:
                yield from self._lands(state, actor, flight)
        silent = orphaned(state, self.promise, self.index, 0)
        hidden = min(state.backend.hidden, self.promise.settle_ms)
        silent = silent._replace(backend=state.backend._replace(hidden=hidden))
        code: Code = ("no_evidence", actor.own, True)
        yield self._hears(silent, actor, code, "hears nothing from the backend")
        if self.promise.kind in {"keyed", "unique"} and actor.sends < self.setting.sends:
            yield self._next("may send again", self._put(silent, actor._replace(phase="ready")))

    def _lands(self, state: State, actor: Actor, flight: Flight) -> Iterator[Next]:
        rest = tuple(one for one in state.flights if one != flight)
        record = self._record(state.record)
        for reply, backend in landed(state.backend, self.promise, self.who, flight.fly):
            after, broken = state._replace(flights=rest, backend=backend), ""
            after = orphaned(after, self.promise, self.index, LEASE_MS)
            if backend.effects != state.backend.effects:
                broken = promises.effect_made(after, self.promise, record)
            if backend != state.backend:
                yield self._next("has its request land, unheard", after, broken=broken)
            code = self._said(actor, reply, backend)
            yield self._hears(after, actor, code, f"hears {reply}", broken)

    def _said(self, actor: Actor, reply: str, backend: Backend) -> Code:
        doubt = self.setting.counts_doubt and actor.sends > 1
        return reported(reply, actor.own, answer(backend, self.promise, self.who), doubt=doubt)

    def _asks(self, state: State, actor: Actor) -> Iterator[Next]:
        for reply in shown(state.backend, self.who):
            match reply:
                case "absent":
                    asked = actor._replace(phase="asked", asked=actor.held)
                    yield self._next("asks: absent", self._put(state, asked))
                case "found":
                    code = self._said(actor, reply, state.backend)
                    yield self._hears(state, actor, code, "asks: found")
                case _:
                    code = ("no_evidence", actor.own, False)
                    yield self._hears(state, actor, code, "asks: unclear")

    def _takes(self, state: State, actor: Actor) -> Iterator[Next]:
        lease = LEASE_MS - actor.clock if self.kind == "call" else None
        code: Code = ("absent", actor.own, actor.asked, lease)
        yield self._hears(state, actor, code, "takes the answer")

    def _hears(self, state: State, actor: Actor, code: Code, does: str, broken: str = "") -> Next:
        """Decide by what this actor knows to be stored: its own record."""
        found = self._obey(state, actor, code, actor.own, move=Move(self.name, does))
        return found._replace(broken=broken or found.broken)

    def _obey(self, state: State, actor: Actor, code: Code, seen: int, *, move: Move) -> Next:
        age = actor.held if move.exchange is None else state.age
        number = self.ledger.decide(seen, age, code)
        step = self.ledger.steps[number]
        broken = promises.decided(self.ledger, self._record(seen), step)
        actor = actor._replace(seen=seen, new=step.new, then=number, asked=0)
        if step.does == "keep":
            return self._follows(state, actor, move, broken)
        clock = 0 if code[0] in LATE else actor.clock  # a success is written at any time
        swapping = Actor("swapping", clock, seen=seen, new=step.new, then=number)
        return Next(move, self._put(state, swapping), broken)

    def _told(self, state: State, outcome: Outcome, seen: int, does: str) -> Next:
        is_heard, stored = self.kind == "call", self._record(seen)
        broken = promises.told(state, self.who, self.name, stored, outcome) if is_heard else ""
        after = promises.noted(self._put(state, DONE), self.who, outcome)
        return self._next(does, after, broken=broken)

    def _record(self, number: int) -> Record | None:
        return self.ledger.record(number) if number else None

    def _put(self, state: State, actor: Actor) -> State:
        actors = list(state.actors)
        actors[self.index] = actor
        # What `_replace` does, in a third of the time: nothing is done more often.
        return State(state.record, state.age, tuple(actors), *state[3:])

    def _next(
        self, does: str, state: State, exchange: Exchange | None = None, *, broken: str = ""
    ) -> Next:
        return Next(Move(self.name, does, exchange), state, broken)
