"""What the explorer's world is made of: small tuples, hashed by the million.

Times are ms, and real figures: a lease of 65 s, a key window of a day. Nothing happens between two
thresholds that could not happen at the first, so time moves only from one to the next.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lib.contract import Principal
from lib.machinery.runner.decide import may_send
from lib.machinery.runner.record import DAY_MS, Guarantee, Record

LEASE_MS = 65_000
SETTLE_MS = 60_000
LOOKUP_MS = 40_000  # shorter than a lease, so that horizons pass within one
HOUR_MS = 3_600_000

CLASSES = {
    "keyed": Guarantee(kind="keyed", window_ms=DAY_MS, settle_ms=SETTLE_MS),
    "sticky": Guarantee(kind="keyed", window_ms=DAY_MS, sticky=True, settle_ms=SETTLE_MS),
    "keyed_ask": Guarantee(kind="keyed", window_ms=DAY_MS, can_ask=True, settle_ms=LOOKUP_MS),
    "unique": Guarantee(kind="unique", settle_ms=SETTLE_MS),
    "lookup": Guarantee(kind="lookup", can_ask=True, settle_ms=LOOKUP_MS),
    "none": Guarantee(kind="none", settle_ms=SETTLE_MS),
}

type Phase = Literal["idle", "unsure", "swapping", "ready", "sent", "asking", "asked", "done"]
type Kind = Literal["call", "sweep", "resolve"]
type Code = tuple[str | int | bool | None, ...]  # an event, by the ids of its records
type Guard = Callable[..., bool]


class Actor(NamedTuple):
    """One attempt, sweep or operator: where it is, and what it believes.

    clock: since before its first claim. held: since it heard that its own record is stored.
    own, seen, new: ids of records. then: the decision that waits for its swap. sends: its requests
    so far. asked: its record's age, at least, when its question was sent.
    """

    phase: Phase = "idle"
    clock: int = 0
    held: int = 0
    own: int = 0
    seen: int = 0
    new: int = 0
    then: int = 0
    sends: int = 0
    asked: int = 0


class Flight(NamedTuple):
    """A request under way: whose, how long it may still land, and who waits for it, if any.

    is_bare: it was sent without a key that the backend would know again.
    """

    who: int
    fly: int
    waits: int = -1
    is_bare: bool = False


class Backend(NamedTuple):
    """The system of record.

    effects: per fingerprint. key: what it stored under ours, for `key_age` so far.
    hidden: how long an effect may stay invisible to a question.
    """

    effects: tuple[int, int] = (0, 0)
    key: Literal["", "done", "refused"] = ""
    key_age: int = 0
    hidden: int = 0


class State(NamedTuple):
    """One moment of the world, and what was promised so far.

    is_lost: the store lost a record. is_misled: an operator said what was not so.
    told_person: someone was told that a person has to look at the record.
    """

    record: int = 0
    age: int = 0
    actors: tuple[Actor, ...] = ()
    flights: tuple[Flight, ...] = ()
    backend: Backend = Backend()
    losses: int = 0
    is_lost: bool = False
    is_misled: bool = False
    told_person: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Who acts in one exploration.

    stranger: the last attempt asks for something else under the same key.
    declares: the class that the last attempt's deployment declares, where it is another one.
    errs: the operator may also say what is not so. writes_late: an attempt past its lease may
    still write what is no success. sends: requests one attempt may send where the key is safe.
    """

    backend: Guarantee
    attempts: int = 2
    sweeps: int = 0
    operators: int = 0
    losses: int = 0
    sends: int = 1
    stranger: bool = False
    declares: str | None = None
    errs: bool = False
    writes_late: bool = False
    counts_doubt: bool = True
    takes_back_its_own: bool = True
    guard: Guard = may_send

    def crew(self) -> tuple[tuple[str, Kind], ...]:
        """Everyone who acts, by name; those that call come first."""
        counts: list[tuple[Kind, int]] = [
            ("call", self.attempts),
            ("sweep", self.sweeps),
            ("resolve", self.operators),
        ]
        return tuple((f"{kind}{n + 1}", kind) for kind, count in counts for n in range(count))

    def declared_by(self, index: int) -> Guarantee:
        """The class under which one of them acts."""
        is_redeployed = self.declares is not None and index == self.attempts - 1
        return CLASSES[str(self.declares)] if is_redeployed else self.backend

    def sent_as(self, flight: Flight) -> Guarantee:
        """The class under which a request was sent that nobody waits for."""
        crew = (self.declared_by(index) for index in range(self.attempts))
        return next(each for each in crew if is_bare(each) == flight.is_bare)


def is_bare(promise: Guarantee) -> bool:
    """Tell whether requests under this class carry nothing that the backend would know again."""
    return promise.kind not in {"keyed", "unique"}


class Exchange(NamedTuple):
    """One move on the store: ids of what was seen and of what was to be stored."""

    kind: Literal["claim", "swap", "read", "age", "lose"]
    seen: int = 0
    new: int = 0
    age: int = 0


class Move(NamedTuple):
    """One step of a schedule; `exchange` where the store was moved."""

    actor: str
    does: str
    exchange: Exchange | None = None


class Next(NamedTuple):
    """Where a move leads, and the promise it breaks, if any."""

    move: Move
    state: State
    broken: str = ""


def fresh(promise: Guarantee, attempt: str, who: int) -> Record:
    """The record of a first claim."""
    return Record(
        state="started",
        tool="create_item",
        backend=promise,
        fingerprint="fp" + str(who),
        reference="ref",
        principal=Principal(issuer="i", subject="s"),
        attempt=attempt,
        lease_ms=LEASE_MS,
        horizon_ms=LEASE_MS + promise.settle_ms,
    )
