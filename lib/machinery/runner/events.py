"""What can happen to an operation, and what may be decided about it; values only.

A success or a report carries the record that its attempt last owned, an operator's word the record
that was looked at.
Source: PROTOCOL §4.
"""

from dataclasses import dataclass

from lib.machinery.outcome import Fault, Outcome
from lib.machinery.runner.record import Record, narrowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A caller asks for the operation.

    own: the record a first claim would store. may_begin: a first claim is allowed.
    """

    own: Record
    may_begin: bool = True

    @property
    def attempt(self) -> str:
        """Who takes over."""
        return self.own.attempt

    @property
    def lease_ms(self) -> int:
        """For how long."""
        return self.own.lease_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The sweeper found the record due."""

    attempt: str
    lease_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurred:
    """Positive evidence, from whoever has it.

    answer: canonical JSON text, None where unreadable or too large; digest: of what there was.
    was_recovered: the backend shows an effect that was there before it was asked.
    in_full: the answer also where it cannot be kept; told once, and decides nothing.
    """

    own: Record
    answer: str | None
    digest: str | None = None
    fault: Fault | None = None
    was_recovered: bool = False
    in_full: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an attempt learned that is not an effect.

    doubt: a send of this very attempt stayed without evidence. was_sent: this attempt sent.
    """

    own: Record
    fault: Fault
    after_ms: int | None = None
    doubt: bool = False
    was_sent: bool = True

    @property
    def may_have_landed(self) -> bool:
        """A request of this attempt, or of one before it, may have had its effect."""
        return self.doubt or self.own.doubt


class Refused(Report):
    """A definite, permanent refusal. Never trusted while an earlier attempt may have landed."""

    __slots__ = ()


class RefusedByKey(Refused):
    """A refusal that the backend stored under our key: it is about this very operation."""

    __slots__ = ()


class NotDone(Report):
    """Definitely not executed, and worth another try."""

    __slots__ = ()


class NoEvidence(Report):
    """Time-out, reset, undeclared 5xx, cancelled after sending, an unclear look-up."""

    __slots__ = ()

    @property
    def may_have_landed(self) -> bool:
        """What was sent without an answer may."""
        return self.was_sent or self.doubt or self.own.doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent(Report):
    """The backend, asked by reference, has nothing.

    asked_age_ms: the record's age when the question was sent, at least.
    lease_ms: the lease under which the attempt would run now; None where it never runs.
    """

    asked_age_ms: int
    lease_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """An operator says what became of it.

    seen: the record that the operator looked at; a word about it says nothing of a later one.
    """

    seen: Record
    occurred: bool
    fault: Fault


type Event = Claim | Sweep | Occurred | Report | Resolve


@dataclass(frozen=True, slots=True)
class Run:
    """Send the request under this record."""

    record: Record


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the backend under this record; send nothing."""

    record: Record


@dataclass(frozen=True, slots=True)
class Tell:
    """Answer the caller."""

    outcome: Outcome


type Verdict = Run | Ask | Tell


@dataclass(frozen=True, slots=True)
class Keep:
    """Leave the record as it is. alarm: a conflict that a person must be told of."""

    verdict: Verdict
    alarm: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """Store `record` if what was seen is still there; only then does the verdict hold."""

    record: Record
    verdict: Verdict
    alarm: str | None = None


@dataclass(frozen=True, slots=True)
class Erase:
    """Delete the record if what was seen is still there; only then does the verdict hold."""

    verdict: Verdict
    alarm: str | None = None


type Decision = Keep | Write | Erase


@dataclass(frozen=True, slots=True)
class Case[E: Event]:
    """What is stored, how old it is by the store's clock, and what happens to it."""

    record: Record
    age_ms: int
    event: E

    @property
    def trusted(self) -> Record:
        """The record, its class no stronger than what the claiming deployment declares."""
        if not isinstance(self.event, Claim):
            return self.record
        return narrowed(self.record, self.event.own.backend)

    @property
    def is_live(self) -> bool:
        """An attempt may still be running."""
        return self.record.is_live(self.age_ms)

    def is_owned_by(self, own: Record) -> bool:
        """Tell whether that attempt still holds the operation."""
        return self.record.state == "started" and self.record.attempt == own.attempt
