"""What the store keeps of one operation, and how it is written and read back.

Source: PROTOCOL §2 (names), §3 (the record), §5 (settle time), §9 (retention).
"""

import json
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Literal, assert_never

from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic_core import from_json

from lib.contract import BackendClass, Keyed, Lookup, OperationId, Principal, Unaskable, Unique
from lib.machinery.outcome import Fault
from lib.machinery.runner.deadline import OPEN_TTL_MS, SETTLE_MS, settle_ms

VERSION = 1
DAY_MS = 24 * 3600 * 1000
COMMITTED_TTL_MS = 30 * DAY_MS
REJECTED_TTL_MS = DAY_MS
MAX_ANSWER_BYTES = 64 * 1024

# Canonical for what a record holds: plain names, whole numbers, strings. A fifth of the general
# library's time, twice per command; a test compares the two.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode

State = Literal["started", "in_doubt", "committed", "rejected"]


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """The declared backend class as plain values: what was promised when the record was made."""

    kind: Literal["keyed", "unique", "lookup", "none"]
    window_ms: int | None = None
    sticky: bool = False
    can_ask: bool = False
    settle_ms: int = SETTLE_MS


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One operation. Durations are in ms from the moment this record was written.

    attempt: random, one per invocation. epoch: takeovers. mode: what the attempt was told to do.
    doubt: an earlier attempt may have landed. elapsed_ms: age of the operation before this record.
    digest: SHA-256 of the answer, also where the answer itself was not kept.
    conflict: the latest answer that differed from the first; conflicts: how many there were.
    """

    state: State
    tool: str
    backend: Guarantee
    fingerprint: str
    reference: str
    principal: Principal
    attempt: str
    epoch: int = 1
    mode: Literal["run", "reconcile"] = "run"
    doubt: bool = False
    ttl_ms: int = OPEN_TTL_MS
    lease_ms: int
    horizon_ms: int
    elapsed_ms: int = 0
    answer: str | None = None
    digest: str | None = None
    fault: Fault | None = None
    conflicts: int = 0
    conflict: str | None = None

    @property
    def is_open(self) -> bool:
        """It has no outcome yet."""
        return self.state in {"started", "in_doubt"}

    def is_live(self, age_ms: int) -> bool:
        """Tell whether an attempt may still be running; at its lease's very end it is not."""
        return self.state == "started" and age_ms < self.lease_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A record as the store holds it: its exact text, and its age by the store's clock."""

    record: Record
    text: str
    age_ms: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something is stored that this code cannot read: never overwritten, never run."""


def guarantee(backend: BackendClass) -> Guarantee:
    """State a declared class as the values a record keeps."""
    match backend:
        case Keyed(window=window, sticky=sticky, lookup=lookup):
            return Guarantee(
                kind="keyed",
                window_ms=int(window.total_seconds() * 1000),
                sticky=sticky,
                can_ask=lookup is not None,
                settle_ms=settle_ms(backend),
            )
        case Unique():
            return Guarantee(kind="unique")
        case Lookup():
            return Guarantee(kind="lookup", can_ask=True, settle_ms=settle_ms(backend))
        case Unaskable():
            return Guarantee(kind="none")
        case _:
            assert_never(backend)


def common(stored: Guarantee, declared: Guarantee) -> Guarantee:
    """State what a record's class and another declaration both promise.

    A reference that is unique says nothing of one that was a key: the two may be sent apart.
    """
    can_ask = stored.can_ask and declared.can_ask
    dedupes = stored.kind == declared.kind and stored.kind in {"keyed", "unique"}
    windows = [each.window_ms for each in (stored, declared) if each.window_ms is not None]
    return Guarantee(
        kind=stored.kind if dedupes else "lookup" if can_ask else "none",
        window_ms=min(windows, default=None) if dedupes else None,
        sticky=stored.sticky and declared.sticky,
        can_ask=can_ask,
        settle_ms=max(stored.settle_ms, declared.settle_ms),
    )


def narrowed(record: Record, declared: Guarantee) -> Record:
    """Read a record as a deployment may that declares this class."""
    return replace(record, backend=common(record.backend, declared))


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The names of one operation: digits of its store key, and its downstream reference."""

    id: OperationId
    reference: str


def operation(environment: str, principal: Principal, idempotency_key: str) -> Operation:
    """Name the operation of one principal's key in one environment.

    Each part is length-prefixed, so no choice of key can imitate another principal's.
    """
    parts = (environment, principal.issuer, principal.subject, idempotency_key)
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    joined = b"".join(len(part).to_bytes(8, "big") + part for part in encoded)
    return Operation(
        id=OperationId(sha256(joined).hexdigest()),
        reference=sha256(b"reference" + joined).hexdigest(),
    )


def store_key(operation_id: OperationId) -> str:
    """Name the record's key in the store."""
    return f"settle:1:{operation_id}"


def open_index(environment: str) -> str:
    """Name the sorted set of one environment's open records."""
    return f"settle:1:open:{environment}"


def encode(record: Record) -> str:
    """Write a record as canonical JSON (RFC 8785) with its version."""
    return _CANONICAL({"v": VERSION, **_plain().dump_python(record)})


def decode(text: str, *, pttl_ms: int) -> Seen | Unreadable:
    """Read a stored record and tell its age; anything unexpected is unreadable.

    pttl_ms: what the store says is left of its TTL; negative where it has none.
    """
    try:
        versioned = _versioned().validate_json(text, strict=True)
        from_json(versioned.answer or "null")
    except ValueError:  # pydantic's ValidationError is one
        return Unreadable()
    fields = {name: getattr(versioned, name) for name in Record.__dataclass_fields__}
    age_ms = versioned.ttl_ms - pttl_ms
    if pttl_ms < 0 or age_ms < 0:
        return Unreadable()
    return Seen(record=Record(**fields), text=text, age_ms=age_ms)


def is_fit_to_keep(answer: bytes) -> bool:
    """Tell whether a record that holds this JSON text can be stored, and read back."""
    try:
        from_json(answer)
    except ValueError:  # nested more than 200 levels deep
        return False
    return len(answer) <= MAX_ANSWER_BYTES


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True, kw_only=True)
class _Versioned(Record):
    v: Literal[1]


@cache
def _versioned() -> TypeAdapter[_Versioned]:
    return TypeAdapter(_Versioned)


@cache
def _plain() -> TypeAdapter[Record]:
    # `dataclasses.asdict` takes several times as long.
    return TypeAdapter(Record)
