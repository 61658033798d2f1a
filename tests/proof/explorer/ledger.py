"""The real table behind small numbers: records and decisions are numbered once, asked once.

A record's number stands for its text in the store: two records are equal where their texts are.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple

from lib.machinery.outcome import Fault, Outcome
from lib.machinery.runner import events as ev
from lib.machinery.runner.decide import Table, decide
from lib.machinery.runner.record import Record
from tests.proof.explorer.model import HOUR_MS, LEASE_MS, Code

FAULT = Fault("fault")


class Step(NamedTuple):
    """A decision about one event; `own` is the record under which its attempt goes on."""

    code: Code
    does: Literal["keep", "write", "erase"]
    new: int
    own: int
    verdict: ev.Verdict
    is_alarm: bool

    @property
    def outcome(self) -> Outcome | None:
        """What the caller is told, unless the attempt goes on."""
        return self.verdict.outcome if isinstance(self.verdict, ev.Tell) else None


class Ledger:
    """Numbers records, and asks the table each question once."""

    def __init__(self, table: Table | None) -> None:
        """Take the table to explore; None for the real one."""
        self.table = table
        self.records: list[Record] = []
        self.steps: list[Step] = []
        self._ids: dict[Record, int] = {}
        self._numbers: dict[Step, int] = {}
        self._asked: dict[tuple[int, int, Code], int] = {}

    def id(self, record: Record) -> int:
        """Number a record, from 1; 0 stands for none."""
        # Only the key window reads it; hours decide there, and too few of them only lead further.
        hours = record.elapsed_ms // HOUR_MS if record.backend.kind == "keyed" else 0
        record = replace(record, elapsed_ms=hours * HOUR_MS)
        known = self._ids.get(record)
        if known is None:
            self.records.append(record)
            known = self._ids[record] = len(self.records)
        return known

    def record(self, number: int) -> Record:
        """Look a record up."""
        return self.records[number - 1]

    def decide(self, number: int, age: int, code: Code) -> int:
        """Ask the table; the answer's number leads to its `Step`."""
        question = (number, age, code)
        known = self._asked.get(question)
        if known is None:
            step = self._step(number, age, code)
            known = self._asked[question] = self._numbers.setdefault(step, len(self.steps))
            if known == len(self.steps):
                self.steps.append(step)
        return known

    def _step(self, number: int, age: int, code: Code) -> Step:
        record = self.record(number) if number else None
        decision = decide(record, age, self._event(code), self.table)
        verdict, is_alarm = decision.verdict, decision.alarm is not None
        own = self.id(verdict.record) if isinstance(verdict, ev.Run | ev.Ask) else 0
        match decision:
            case ev.Keep():
                return Step(code, "keep", number, own, verdict, is_alarm)
            case ev.Write(record=new):
                return Step(code, "write", self.id(new), own, verdict, is_alarm)
            case ev.Erase():
                return Step(code, "erase", 0, own, verdict, is_alarm)

    def _event(self, code: Code) -> ev.Event:
        kind, *rest = code
        return _BUILD[str(kind)](self, *rest)

    def claim(self, own: int) -> ev.Event:
        """A caller's claim."""
        return ev.Claim(own=self.record(own))

    def sweep(self, attempt: str) -> ev.Event:
        """The sweeper's."""
        return ev.Sweep(attempt=attempt, lease_ms=LEASE_MS)

    def resolve(self, seen: int, occurred: bool, is_lie: bool) -> ev.Event:  # noqa: ARG002, FBT001
        """The operator's word; whether it is a lie is for the promises only."""
        return ev.Resolve(seen=self.record(seen), occurred=occurred, fault=FAULT)

    def ok(self, own: int, answer: str, recovered: bool) -> ev.Event:  # noqa: FBT001  as above
        """Positive evidence."""
        return ev.Occurred(
            own=self.record(own), answer=answer, digest=answer, was_recovered=recovered
        )

    def refused(self, own: int, doubt: bool) -> ev.Event:  # noqa: FBT001  as above
        """A refusal."""
        return ev.Refused(own=self.record(own), fault=FAULT, doubt=doubt)

    def by_key(self, own: int, doubt: bool) -> ev.Event:  # noqa: FBT001  as above
        """A refusal from what the key stored."""
        return ev.RefusedByKey(own=self.record(own), fault=FAULT, doubt=doubt)

    def not_done(self, own: int, doubt: bool, sent: bool) -> ev.Event:  # noqa: FBT001  as above
        """Turned away, or never sent."""
        return ev.NotDone(own=self.record(own), fault=FAULT, doubt=doubt, was_sent=sent)

    def no_evidence(self, own: int, sent: bool) -> ev.Event:  # noqa: FBT001  as above
        """Silence."""
        return ev.NoEvidence(own=self.record(own), fault=FAULT, doubt=sent, was_sent=sent)

    def absent(self, own: int, asked_age: int, lease: int | None) -> ev.Event:
        """Nothing under the reference."""
        return ev.Absent(
            own=self.record(own),
            fault=FAULT,
            was_sent=False,
            asked_age_ms=asked_age,
            lease_ms=lease,
        )


_BUILD: dict[str, Callable[..., ev.Event]] = {
    "claim": Ledger.claim,
    "sweep": Ledger.sweep,
    "resolve": Ledger.resolve,
    "ok": Ledger.ok,
    "refused": Ledger.refused,
    "by_key": Ledger.by_key,
    "not_done": Ledger.not_done,
    "no_evidence": Ledger.no_evidence,
    "absent": Ledger.absent,
}


def reported(reply: str, own: int, answer: str, *, doubt: bool) -> Code:
    """Name the event that a backend's reply is to the attempt that waited for it."""
    match reply:
        case "refused" | "by_key":
            return (reply, own, doubt)
        case "not_done":
            return ("not_done", own, doubt, True)
        case _:
            return ("ok", own, answer, reply != "ok")
