"""From any moment on, with store and backend healthy again, an operation comes to its end.

A caller follows the advice it is given, the sweeper sweeps, a person looks: each alone must settle
what its part can settle (PROTOCOL §1, §5). Everyone of before is dead by then.
"""

import math
from typing import NamedTuple

from lib.machinery.outcome import InDoubt, InProgress, NotExecuted, Outcome
from lib.machinery.runner.events import Ask, Run
from tests.proof.explorer.backend import aged, answer
from tests.proof.explorer.ledger import Ledger, Step
from tests.proof.explorer.model import LEASE_MS, Backend, Code, Setting, State, fresh
from tests.proof.explorer.promises import OPEN

ROUNDS = 16


class Moment(NamedTuple):
    """What outlives every attempt."""

    record: int
    age: int
    backend: Backend


class Health:
    """Asks of each moment whether it can be settled from there."""

    def __init__(self, setting: Setting, ledger: Ledger) -> None:
        """Take the class and the table under test."""
        self.setting, self.ledger, self.promise = setting, ledger, setting.backend
        self._known: dict[Moment, str] = {}
        self._own = [ledger.id(fresh(self.promise, f"later{n}", 0)) for n in range(ROUNDS)]

    def check(self, state: State) -> str:
        """Tell what cannot be settled from here, or ""."""
        if not state.record or state.is_lost or state.is_misled or self.setting.declares:
            return ""  # what one deployment can settle, another one may not
        moment = Moment(state.record, state.age, state.backend)
        known = self._known.get(moment)
        if known is None:
            known = self._by_retries(moment, math.inf) or self._by_others(moment)
            if self.promise.can_ask:
                known = known or self._by_retries(moment, self.promise.settle_ms / 4)
            self._known[moment] = known
        return known

    def _by_retries(self, now: Moment, patience_ms: float) -> str:
        """Follow the advice, or come back before the time it names."""
        may_need_a_person = self._needs_a_person(now)
        for own in self._own:
            now, outcome = self._call(now, ("claim", own))
            match outcome:
                case InDoubt(after_ms=None):
                    return "" if may_need_a_person else "retries are told to give up"
                case InProgress(after_ms=int(ms)) | NotExecuted(after_ms=ms) | InDoubt(after_ms=ms):
                    now = self._later(now, int(min(ms or 0, patience_ms)))
                case _:
                    return ""
        return "retries never find out"

    def _needs_a_person(self, now: Moment) -> bool:
        """Class none; and keyed that cannot be asked, once its window may be over."""
        if self.promise.kind == "none":
            return True
        record = self.ledger.record(now.record)
        if self.promise.kind != "keyed" or self.promise.can_ask:
            return False
        wait = max(0, record.lease_ms - now.age) if record.state == "started" else 0
        ends = record.elapsed_ms + now.age + wait + LEASE_MS
        return 10 * ends > 9 * (self.promise.window_ms or 0)

    def _by_others(self, now: Moment) -> str:
        record = self.ledger.record(now.record)
        if record.state not in OPEN:
            return ""
        now = self._later(now, max(0, record.lease_ms - now.age))
        if self.promise.can_ask and not self._is_swept(now):
            return "the sweeper leaves provable doubt"
        ends = max(record.lease_ms, record.horizon_ms)
        late = self._later(now, max(0, ends - now.age))
        occurred = bool(late.backend.effects[0])
        step = self._decide(late, ("resolve", late.record, occurred, False))
        return "" if step.does == "write" else "a person cannot settle it"

    def _is_swept(self, now: Moment) -> bool:
        for number in range(3):
            now, _ = self._call(now, ("sweep", f"swept{number}"))
            if not now.record or self.ledger.record(now.record).state not in OPEN:
                return True
            record = self.ledger.record(now.record)
            now = self._later(now, max(0, record.horizon_ms - now.age))
        return False

    def _call(self, now: Moment, code: Code) -> tuple[Moment, Outcome | None]:
        """One attempt to which nothing bad happens."""
        is_sweep = code[0] == "sweep"
        if not now.record:
            now = now._replace(record=int(code[1] or 0), age=0)
            return self._run(now, now.record)
        step = self._decide(now, code)
        now = self._moved(now, step)
        if isinstance(step.verdict, Ask):
            step = self._decide(now, self._answered(now, step.own, is_sweep=is_sweep))
            now = self._moved(now, step)
        if isinstance(step.verdict, Run):
            return self._run(now, step.own)
        return now, step.outcome

    def _answered(self, now: Moment, own: int, *, is_sweep: bool) -> Code:
        if any(now.backend.effects):
            return ("ok", own, answer(now.backend, self.promise, 0), True)
        return ("absent", own, now.age, None if is_sweep else LEASE_MS)

    def _run(self, now: Moment, own: int) -> tuple[Moment, Outcome | None]:
        backend, code = now.backend, ("ok", own, answer(now.backend, self.promise, 0), False)
        if backend.key == "refused":
            code = ("by_key", own, False)
        elif not any(backend.effects):
            key = "done" if self.promise.kind == "keyed" else ""
            backend = backend._replace(effects=(1, 0), key=key, key_age=0)
        now = now._replace(backend=backend)
        step = self._decide(now, code)
        return self._moved(now, step), step.outcome

    def _decide(self, now: Moment, code: Code) -> Step:
        return self.ledger.steps[self.ledger.decide(now.record, now.age, code)]

    def _moved(self, now: Moment, step: Step) -> Moment:
        if step.does == "keep" or step.new == now.record:
            return now
        return now._replace(record=step.new, age=0)

    def _later(self, now: Moment, ms: int) -> Moment:
        return Moment(now.record, now.age + ms, aged(now.backend, self.promise, ms))
