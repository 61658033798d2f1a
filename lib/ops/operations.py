"""The list of open operations, and all that is kept of one; both change nothing.

Source: PROTOCOL §3 (the record holds no argument), §9 (operator).
"""

from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from lib.contract import OperationId
from lib.machinery.gate.audit import actor_name
from lib.machinery.runner.record import Seen
from lib.machinery.runner.store import Store
from lib.ops.answer import Answer, pairs, plain, span, table
from lib.ops.looks import (
    SHORTEST,
    Look,
    Next,
    find,
    lease_left_ms,
    open_looks,
    resolvable_in_ms,
)

WHO: dict[Next, str] = {
    "running": "An attempt is at work on it.",
    "caller": "The caller's retry finds out: the backend still knows its key.",
    "sweeper": "The sweeper, or the caller's retry, asks the backend.",
    "person": "Only a person can find out: look into the backend, then `resolve`.",
    "settled": "It is settled.",
    "gone": "Nothing is kept of it. That does not prove that nothing happened.",
    "unreadable": "This version cannot read what is stored; it is never overwritten.",
}


async def list_open(store: Store, limit: int) -> Answer:
    """List what is open, what fell due first at the top.

    Raises: StoreSilentError: no reply.
    """
    looks, total = await open_looks(store, limit)
    return Answer(
        data={
            "environment": store.environment,
            "total": total,
            "operations": [facts(look) for look in looks],
        },
        shown=_listing(store.environment, looks, total),
        needs_attention=total > len(looks) or any(look.needs_attention for look in looks),
    )


async def show(store: Store, text: str) -> Answer:
    """Show everything that is kept of one operation.

    Raises: CannotError: no such id. StoreSilentError: no reply.
    """
    operation_id = await find(store, text)
    return shown(Look(operation_id, await store.read(operation_id)), store.environment)


def shown(look: Look, environment: str) -> Answer:
    """Put one operation into words."""
    data = {"environment": environment, **facts(look)}
    if isinstance(look.held, Seen):
        data["record"] = asdict(look.held.record)
    return Answer(
        data=data,
        shown=Group(pairs(_words(look)), "", WHO[look.next]),
        needs_attention=look.needs_attention or look.next == "gone",
    )


def facts(look: Look) -> dict[str, Any]:
    """State what a program would ask about an operation; null where nothing can be read."""
    seen = look.held if isinstance(look.held, Seen) else None
    record = None if seen is None else seen.record
    return {
        "operation_id": look.operation_id,
        "next": look.next,
        "state": record and record.state,
        "tool": record and record.tool,
        "class": record and record.backend.kind,
        "principal": record and asdict(record.principal),
        "attempts": record and record.epoch,
        "age_ms": seen and seen.record.elapsed_ms + seen.age_ms,
        "lease_left_ms": seen and lease_left_ms(seen),
        "resolvable_in_ms": seen and resolvable_in_ms(seen),
    }


def _listing(environment: str, looks: list[Look], total: int) -> RenderableType:
    if not total:
        return Text(f"Nothing is open in {plain(environment)}.")
    rows = table("age", "state", "tool", "class", "principal", "tries", "operation", "next")
    digits = _digits([look.operation_id for look in looks])
    for look in looks:
        rows.add_row(*(Text(plain(cell)) for cell in _cells(look, digits)))
    counted = f"{total} open in {plain(environment)}"
    hidden = total - len(looks)
    who = {look.next: f"{look.next}: {WHO[look.next]}" for look in looks}
    return Group(
        rows,
        "",
        Text(f"{counted}, {hidden} of them not shown." if hidden else f"{counted}."),
        *(Text(said) for said in who.values()),
    )


def _cells(look: Look, digits: int) -> list[str]:
    short = look.operation_id[:digits]
    if not isinstance(look.held, Seen):
        return ["", "", "", "", "", "", short, look.next]
    record = look.held.record
    return [
        span(record.elapsed_ms + look.held.age_ms),
        _state(look.held),
        record.tool,
        record.backend.kind,
        actor_name(record.principal),
        str(record.epoch),
        short,
        _next(look, look.held),
    ]


def _state(seen: Seen) -> str:
    if seen.record.state == "started":
        return "running" if lease_left_ms(seen) else "died"
    return seen.record.state.replace("_", " ")


def _next(look: Look, seen: Seen) -> str:
    if look.next == "running":
        return f"lease {span(lease_left_ms(seen))}"
    wait_ms = resolvable_in_ms(seen) or 0
    # A caller's retry is welcome at once; the others' word counts past the horizon.
    return f"{look.next}, {span(wait_ms)}" if wait_ms and look.next != "caller" else look.next


def _digits(ids: list[OperationId]) -> int:
    lengths = range(SHORTEST, len(ids[0]) + 1) if ids else (SHORTEST,)
    return next((n for n in lengths if len({each[:n] for each in ids}) == len(ids)), SHORTEST)


def _words(look: Look) -> dict[str, object]:
    if not isinstance(look.held, Seen):
        return {"operation": look.operation_id, "state": look.next}
    seen, record = look.held, look.held.record
    wait_ms, fault = resolvable_in_ms(seen), record.fault
    words: dict[str, object | None] = {
        "operation": look.operation_id,
        "state": _state(seen),
        "tool": record.tool,
        "principal": actor_name(record.principal),
        "class": _guarantee(seen),
        "attempts": f"{record.epoch}, the last to {record.mode}",
        "doubt": "an earlier attempt may have landed" if record.doubt else None,
        "age": f"{span(record.elapsed_ms + seen.age_ms)}, as it is for {span(seen.age_ms)}",
        "kept for": span(record.ttl_ms - seen.age_ms),
        "lease": f"{span(lease_left_ms(seen))} left" if lease_left_ms(seen) else None,
        "resolvable": None if wait_ms is None else (f"in {span(wait_ms)}" if wait_ms else "now"),
        "error": None if fault is None else f"{fault.code}: {fault.message}",
        "reference": record.reference,
        "fingerprint": record.fingerprint,
        "attempt": record.attempt,
        "digest": record.digest,
        "answer": record.answer,
        "conflicts": record.conflicts or None,
        "other answer": record.conflict,
    }
    return {name: value for name, value in words.items() if value is not None}


def _guarantee(seen: Seen) -> str:
    backend = seen.record.backend
    window = None if backend.window_ms is None else f"window {span(backend.window_ms)}"
    parts = (
        backend.kind,
        window,
        "keeps its refusals" if backend.sticky else None,
        "can be asked" if backend.can_ask else "cannot be asked",
        f"may land for {span(backend.settle_ms)} more",
    )
    return ", ".join(part for part in parts if part)
