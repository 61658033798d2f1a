"""The shell around the table: claim, perform, settle. It obeys decisions and takes none.

Whatever kills this process between two lines leaves a record from which the next call or the
sweeper, or a person where the backend cannot help, finds out what became of the operation.
Source: PROTOCOL §3 (moves), §4 (table), §5 (re-sending), §7 (time), §9 (waiting for a twin).
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import assert_never

import anyio

from lib.machinery import outcome as out
from lib.machinery.outcome import Fault, Outcome
from lib.machinery.runner import events as ev
from lib.machinery.runner.deadline import DISPATCH_MARGIN_S, Deadline
from lib.machinery.runner.decide import may_send
from lib.machinery.runner.evidence import ask, send
from lib.machinery.runner.holding import STORE_RETRY_MS, Holding, uninterrupted
from lib.machinery.runner.intent import Intent
from lib.machinery.runner.record import Record, Seen, encode, guarantee
from lib.machinery.runner.store import Store, Stored, StoreSilentError
from lib.machinery.runner.transitions import IN_DOUBT, RETRY_MS

SENDS = 2  # per attempt, where the backend deduplicates
RESEND_PAUSE_S = 0.2
TWIN_WAITS_S = (0.1, 0.3, 0.6, 1.0)  # at most 2 s in all
NO_TIME = Fault("no_time", "Too little time was left to start.")
CANCELLED = Fault("cancelled", "The call was cancelled.")


async def perform(
    intent: Intent, store: Store, deadline: Deadline, *, attempt: str, may_begin: bool = True
) -> Outcome:
    """Settle one command, or say what is in doubt.

    Args:    attempt: a random name that no other invocation has.
             may_begin: settle also what was not begun before.
    Returns: NotExecuted with the fault `NOT_BEGUN` where nothing is stored and nothing may begin.
    """
    clock, now = deadline.clock, deadline.clock.now()
    holding = Holding(
        store=store, clock=clock, operation_id=intent.operation.id, heard_at=now, lease=(now, 0)
    )
    return await _Attempt(intent, holding, deadline, name=attempt, may_begin=may_begin).run()


class _Attempt:
    def __init__(
        self, intent: Intent, holding: Holding, deadline: Deadline, *, name: str, may_begin: bool
    ) -> None:
        self.intent, self.holding, self.deadline = intent, holding, deadline
        self.name, self.may_begin = name, may_begin
        self.own = self._fresh()
        self.was_sent = self.is_settled = False
        self.proof: ev.Occurred | None = None  # heard, whether or not it could be written down

    async def run(self) -> Outcome:
        try:
            verdict = await self._claim_or_wait()
            if isinstance(verdict, ev.Ask):
                verdict = await self._ask(verdict.record)
            if isinstance(verdict, ev.Run):
                verdict = await self._execute(verdict.record)
        except asyncio.CancelledError:
            if not self.is_settled:
                await uninterrupted(self.holding.obey(self.proof or self._cancelled()))
            raise
        return self._outcome(verdict)

    def _cancelled(self) -> ev.Report:
        kind = ev.NoEvidence if self.was_sent else ev.NotDone
        return kind(own=self.own, fault=CANCELLED, was_sent=self.was_sent)

    def _outcome(self, verdict: ev.Verdict) -> Outcome:
        # The table tells nobody to run twice; nor would this.
        doubt = out.InDoubt(fault=IN_DOUBT, after_ms=RETRY_MS, was_sent=self.was_sent)
        return verdict.outcome if isinstance(verdict, ev.Tell) else doubt

    async def _claim_or_wait(self) -> ev.Verdict:
        verdict = await uninterrupted(self._claim())
        for wait_s in TWIN_WAITS_S:
            match verdict:
                case ev.Tell(out.InProgress()) if self._has_time_after(wait_s):
                    await anyio.sleep(wait_s)
                    verdict = await uninterrupted(self._claim())
                case _:
                    break
        return verdict

    async def _claim(self) -> ev.Verdict:
        self.own, asked_at = self._fresh(), self.holding.clock.now()
        self.holding.lease = (asked_at, self.own.lease_ms)
        store, operation_id = self.holding.store, self.intent.operation.id
        try:
            # Where nothing may be begun, a look; the swap then proves what it saw.
            moved = await (
                store.claim(operation_id, self.own) if self.may_begin else store.read(operation_id)
            )
        except StoreSilentError:
            if self.may_begin:
                await self._take_back()
            return ev.Tell(out.StoreUnavailable(after_ms=STORE_RETRY_MS))
        self.holding.now_holds(moved, asked_at=asked_at)
        if isinstance(moved, Stored):
            return ev.Run(self.own)
        return await self.holding.obey(ev.Claim(own=self.own, may_begin=self.may_begin))

    async def _take_back(self) -> None:
        """Free the key where the silent claim was stored: nothing was, nor will be, sent under it.

        Once and at best: where this is silent too, the claim is somebody's lease until it ends.
        """
        mine = Seen(record=self.own, text=encode(self.own), age_ms=0)
        # One more silence must not outlast the call, which has an answer to give.
        once = iter([self.deadline.remaining_s() > self.holding.store.timeout_s])
        with suppress(StoreSilentError):
            await self.holding.store.swap(
                self.intent.operation.id,
                seen=mine,
                record=None,
                is_timely=lambda: next(once, False),
            )

    async def _ask(self, record: Record) -> ev.Verdict:
        self.own = record
        timeout_s = self.deadline.backend_timeout_s()
        age_ms = self.holding.since_heard_ms()
        heard = await ask(self.intent.command, record, timeout_s=timeout_s, asked_age_ms=age_ms)
        if not isinstance(heard, ev.Absent):
            return await self._settle(heard)
        lease = (self.holding.clock.now(), self.deadline.lease_ms())
        verdict = await self._settle(replace(heard, lease_ms=lease[1]))
        if isinstance(verdict, ev.Run):
            self.holding.lease = lease
        return verdict

    async def _execute(self, record: Record) -> ev.Verdict:
        self.own = record
        heard: ev.Occurred | ev.Report = ev.NotDone(own=record, fault=NO_TIME, was_sent=False)
        for _ in range(SENDS if record.backend.kind in {"keyed", "unique"} else 1):
            if self.was_sent:
                await anyio.sleep(RESEND_PAUSE_S)
            await anyio.lowlevel.checkpoint()  # a cancellation until here finds nothing sent
            if not self._may_send():
                break
            doubt, self.was_sent = self.was_sent, True
            timeout_s = self.deadline.backend_timeout_s()
            heard = await send(self.intent, record, timeout_s=timeout_s, doubt=doubt)
            if not isinstance(heard, ev.NoEvidence) or heard.after_ms is not None:
                break
        return await self._settle(heard)

    async def _settle(self, heard: ev.Occurred | ev.Report) -> ev.Verdict:
        if isinstance(heard, ev.Occurred):
            self.proof = heard
        return await uninterrupted(self._written(heard))

    async def _written(self, event: ev.Occurred | ev.Report) -> ev.Verdict:
        verdict = await self.holding.obey(event)
        match verdict:
            case ev.Tell(out.Succeeded(recorded=False)):
                pass  # a cancelled call, whose caller hears nothing, tries once more
            case ev.Tell():
                self.is_settled = True
            case ev.Run() | ev.Ask():
                pass  # so that a cancellation before anything is sent releases it
            case _:
                assert_never(verdict)
        return verdict

    def _fresh(self) -> Record:
        backend = guarantee(self.intent.command.backend)
        lease_ms = self.deadline.lease_ms()
        return Record(
            state="started",
            tool=self.intent.command.name,
            backend=backend,
            fingerprint=self.intent.fingerprint,
            reference=self.intent.operation.reference,
            principal=self.intent.principal,
            attempt=self.name,
            lease_ms=lease_ms,
            horizon_ms=lease_ms + backend.settle_ms,
        )

    def _has_time_after(self, wait_s: float) -> bool:
        # Who waits for a twin that turns out dead must still have the time to take over.
        needed_s = self.deadline.limits.commit_budget_s + 2 * DISPATCH_MARGIN_S
        return self.deadline.remaining_s() - wait_s > needed_s

    def _may_send(self) -> bool:
        return may_send(
            remaining_s=self.deadline.remaining_s(),
            lease_left_s=self.holding.lease_left_s(),
            commit_budget_s=self.deadline.limits.commit_budget_s,
        )
