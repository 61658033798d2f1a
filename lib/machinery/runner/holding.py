"""What the store holds of one operation, and the loop that obeys decisions about it.

Source: PROTOCOL §3 (the moves), §7 (what was sent is written down even if the caller is gone).
"""

import asyncio
import logging
import math
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import assert_never

import anyio

from lib.contract import OperationId
from lib.machinery import outcome as out
from lib.machinery.runner import events as ev
from lib.machinery.runner import rules
from lib.machinery.runner.deadline import Clock, Moment
from lib.machinery.runner.decide import decide, timed
from lib.machinery.runner.record import Seen, Unreadable
from lib.machinery.runner.store import Held, Store, Stored, StoreSilentError
from lib.machinery.runner.transitions import RETRY_MS

LOG = logging.getLogger("settle.runner")
ROUNDS = 8  # of losing a swap to others and deciding again
STORE_RETRY_MS = 2_000


@dataclass(slots=True, kw_only=True)
class Holding:
    """What the store holds of one operation, as far as this process knows.

    lease: when it began, and in ms; of the attempt that decides. An operator's has no end.
    trip_s: how long the last exchange with the store took.
    """

    store: Store
    clock: Clock
    operation_id: OperationId
    held: Held = None
    heard_at: Moment
    lease: tuple[Moment, float]
    trip_s: float = 0.0

    def now_holds(self, said: Stored | Held, *, asked_at: Moment) -> None:
        """Note what the store just said, to a question sent at that moment."""
        self.held = said.held if isinstance(said, Stored) else said
        self.heard_at = self.clock.now()
        self.trip_s = self.clock.since(asked_at)

    def since_heard_ms(self) -> int:
        """Tell for how long at least that is known."""
        return int(self.clock.at_least(self.heard_at) * 1000)

    def lease_left_s(self) -> float:
        """Tell how long the deciding attempt may still count on being the only one."""
        begun, lease_ms = self.lease
        return lease_ms / 1000 - self.clock.since(begun)

    async def obey(self, event: ev.Event) -> ev.Verdict:
        """Decide, make the move that was decided, and decide again where someone was faster."""
        for _ in range(ROUNDS):
            if isinstance(self.held, Unreadable):
                LOG.error("record_unreadable", extra={"operation_id": self.operation_id})
                break
            decision = self._decide(self.held, event)
            if isinstance(decision, ev.Keep):
                return decision.verdict
            becomes = decision.record if isinstance(decision, ev.Write) else None
            asked_at = self.clock.now()
            try:
                moved = await self.store.swap(
                    self.operation_id,
                    seen=self.held,
                    record=becomes,
                    is_timely=lambda: self._is_timely(event),
                )
            except StoreSilentError:
                was_sent = isinstance(event, ev.Report) and event.was_sent
                return unwritten(decision.verdict, was_sent=was_sent)
            self.now_holds(moved, asked_at=asked_at)
            if isinstance(moved, Stored):
                return decision.verdict
        return undecided(event)

    def _decide(self, seen: Seen | None, event: ev.Event) -> ev.Decision:
        age_ms = 0 if seen is None else seen.age_ms + self.since_heard_ms()
        # The answer's way here, and the decision's way back.
        lag_ms = math.ceil(2000 * self.trip_s)
        record = None if seen is None else seen.record
        decision = timed(decide(record, age_ms, event), age_ms=age_ms, lag_ms=lag_ms)
        if decision.alarm is not None:
            alarm = {"operation_id": self.operation_id, "conflict": decision.alarm}
            LOG.error("conflict", extra=alarm)
        return decision

    def _is_timely(self, event: ev.Event) -> bool:
        # A process that was frozen past its lease writes nothing but what is true for ever: its
        # durations no longer hold, and a key window might be counted from too late.
        return isinstance(event, ev.Occurred | ev.Resolve) or self.lease_left_s() > 0


def undecided(event: ev.Event) -> ev.Verdict:
    """Say what is still true when the record cannot be read, or changes faster than one decides."""
    match event:
        case ev.Occurred():
            return rules.succeeded(event, recorded=False)
        case ev.Report(was_sent=True, fault=fault):
            return ev.Tell(out.InDoubt(fault=fault, after_ms=RETRY_MS, was_sent=True))
        case _:
            return ev.Tell(out.StoreUnavailable(after_ms=STORE_RETRY_MS))


def unwritten(verdict: ev.Verdict, *, was_sent: bool) -> ev.Verdict:
    """Say what is still true when the move behind a verdict may not have been made.

    A success is one, whoever knows it. A refusal counts only from the record's owner, and who
    that is cannot be known now; and nothing is sent under a record that may not be there.
    A retry is harmless for every class, and finds out whether the move was made.
    """
    match verdict:
        case ev.Tell(out.Succeeded() as succeeded):
            return ev.Tell(replace(succeeded, recorded=False))
        case ev.Tell(out.Rejected(fault=fault) | out.NotExecuted(fault=fault)):
            return ev.Tell(out.InDoubt(fault=fault, after_ms=RETRY_MS, was_sent=was_sent))
        case ev.Tell():
            return verdict
        case ev.Run() | ev.Ask():
            return ev.Tell(out.StoreUnavailable(after_ms=STORE_RETRY_MS))
        case _:
            assert_never(verdict)


async def uninterrupted[T](work: Coroutine[None, None, T]) -> T:
    """Finish `work` even if the caller is cancelled meanwhile, then let the cancellation through.

    A native `Task.cancel` passes an anyio shield, so the work gets a task of its own.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as fault:
                cancelled = fault
    if cancelled is not None:
        raise cancelled
    return task.result()
