"""From one record to the next, and from a record to what it says; pure.

Source: PROTOCOL §4 (what becomes of it), §5 (horizon, key window).
"""

from dataclasses import replace
from typing import assert_never

from lib.machinery.outcome import Fault, InDoubt, InProgress, Outcome, Rejected, Succeeded
from lib.machinery.runner.record import (
    COMMITTED_TTL_MS,
    OPEN_TTL_MS,
    REJECTED_TTL_MS,
    Record,
)

RETRY_MS = 1_000  # where a retry can find out at once
IN_DOUBT = Fault("in_doubt", "No evidence yet of whether it happened.")
CONFLICT = Fault("conflict", "The backend shows something else under this reference.")


def horizon_left_ms(record: Record, age_ms: int) -> int:
    """Tell how long an attempt that sent may still land unseen."""
    return max(0, record.horizon_ms - age_ms)


def is_inside_key_window(record: Record, age_ms: int, lease_ms: int) -> bool:
    """Tell whether the backend still knows our key when an attempt of `lease_ms` ends."""
    backend = record.backend
    if backend.kind == "unique":
        return True
    if backend.kind != "keyed" or backend.window_ms is None:
        return False
    return 10 * (record.elapsed_ms + age_ms + lease_ms) <= 9 * backend.window_ms


def taken_over_to_run(record: Record, age_ms: int, attempt: str, lease_ms: int) -> Record:
    """Give the operation to an attempt that sends the same request again."""
    return replace(
        _taken_over(record, age_ms, attempt, lease_ms),
        mode="run",
        horizon_ms=lease_ms + record.backend.settle_ms,
    )


def taken_over_to_ask(record: Record, age_ms: int, attempt: str, lease_ms: int) -> Record:
    """Give the operation to an attempt that only asks, and so moves no horizon."""
    taken = _taken_over(record, age_ms, attempt, lease_ms)
    return replace(taken, mode="reconcile", horizon_ms=horizon_left_ms(record, age_ms))


def _taken_over(record: Record, age_ms: int, attempt: str, lease_ms: int) -> Record:
    return replace(
        record,
        state="started",
        attempt=attempt,
        epoch=record.epoch + 1,
        doubt=True,
        ttl_ms=OPEN_TTL_MS,
        lease_ms=lease_ms,
        elapsed_ms=record.elapsed_ms + age_ms,
        fault=None,
    )


def cleared_to_run(record: Record, age_ms: int, lease_ms: int) -> Record:
    """Let the owner send after all: the backend proved that nothing landed, nor will."""
    return replace(
        record,
        mode="run",
        doubt=False,
        lease_ms=lease_ms,
        horizon_ms=lease_ms + record.backend.settle_ms,
        elapsed_ms=record.elapsed_ms + age_ms,
    )


def doubted(record: Record, age_ms: int, *, fault: Fault, was_sent: bool) -> Record:
    """Put the operation in doubt; only an attempt that may have sent moves the horizon."""
    left_ms = horizon_left_ms(record, age_ms)
    return replace(
        record,
        state="in_doubt",
        doubt=True,
        ttl_ms=OPEN_TTL_MS,
        horizon_ms=record.backend.settle_ms if was_sent else left_ms,
        elapsed_ms=record.elapsed_ms + age_ms,
        fault=fault,
    )


def committed(
    record: Record, *, answer: str | None, digest: str | None, fault: Fault | None
) -> Record:
    """Settle the operation: it happened, and this is its answer from now on."""
    return replace(
        record,
        state="committed",
        ttl_ms=COMMITTED_TTL_MS,
        answer=answer,
        digest=digest,
        fault=fault,
    )


def rejected(record: Record, *, fault: Fault) -> Record:
    """Settle the operation: refused, nothing happened."""
    return replace(record, state="rejected", ttl_ms=REJECTED_TTL_MS, fault=fault)


def contradicted(record: Record, *, answer: str | None) -> Record:
    """Keep a differing answer beside the first one, and count it."""
    return replace(record, ttl_ms=COMMITTED_TTL_MS, conflicts=record.conflicts + 1, conflict=answer)


def told(record: Record, age_ms: int) -> Outcome:
    """Say what a record knows, to a caller whose call changed nothing."""
    match state := record.state:
        case "committed":
            return Succeeded(answer=record.answer, this_call="replayed", fault=record.fault)
        case "rejected":
            return Rejected(fault=record.fault or Fault("refused"), this_call="replayed")
        case "started" if record.is_live(age_ms):
            return InProgress(after_ms=record.lease_ms - age_ms)
        case "started" | "in_doubt":
            return in_doubt(record, age_ms)
        case _:
            assert_never(state)


def in_doubt(record: Record, age_ms: int, *, after_ms: int = 0, was_sent: bool = False) -> InDoubt:
    """Say that it may have happened, and when a retry can find out, if any can."""
    fault = record.fault or IN_DOUBT
    if fault == CONFLICT:  # a tool may have that code too, and another sentence
        return InDoubt(fault=fault, after_ms=None, was_sent=was_sent)
    if is_inside_key_window(record, age_ms, record.lease_ms):
        wait_ms: int | None = max(after_ms, RETRY_MS)
    elif record.backend.can_ask:
        wait_ms = max(after_ms, RETRY_MS, horizon_left_ms(record, age_ms))
    else:
        wait_ms = None
    return InDoubt(fault=fault, after_ms=wait_ms, was_sent=was_sent)
