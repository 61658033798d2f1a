"""The sweeper: finds open records that nobody holds any more, and settles what can be proved.

It asks, and never sends a command. It takes no live lease, may be killed anywhere, and may run
twice at once: each record is taken by a swap, and a second sweeper finds the first one's lease.
Source: PROTOCOL §9 (how many, how long).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from lib.contract import Command, OperationId
from lib.machinery.outcome import InDoubt, InProgress, StoreUnavailable, Succeeded
from lib.machinery.runner.deadline import Deadline
from lib.machinery.runner.events import Ask, Run, Sweep, Tell, Verdict
from lib.machinery.runner.evidence import ask
from lib.machinery.runner.holding import Holding
from lib.machinery.runner.record import Record, Seen
from lib.machinery.runner.store import Store, StoreSilentError

LOG = logging.getLogger("settle.sweeper")
BATCH = 50
BUDGET_S = 20.0
MAX_SILENCES = 2  # one record that the store stumbles over must not stop the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """Records looked at, settled, still in doubt, and due but not looked at."""

    looked: int = 0
    settled: int = 0
    in_doubt: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeper:
    """One run over the open index of a store's environment.

    find: the command a record names; None where this deployment has no such command any more.
    """

    store: Store
    deadline: Deadline
    find: Callable[[str], Command[Any, Any] | None]
    new_id: Callable[[], str]

    async def run(self) -> Swept:
        """Look at what is due, oldest first, while the budget lasts.

        Raises: StoreSilentError: the index could not be read; nothing was changed.
        """
        due, count = await self.store.due(BATCH)
        swept, silences = Swept(), 0
        for operation_id in due:
            if swept.looked and not self._has_time():
                break  # but one each time, also where the settings leave no room for a second
            try:
                verdict = await self._look(operation_id)
            except StoreSilentError:
                silences += 1
                if silences == MAX_SILENCES:
                    break
                continue
            swept = _counted(swept, verdict)
        swept = replace(swept, left=max(0, count - swept.looked))
        LOG.info("swept", extra={"counts": swept})
        return swept

    def _has_time(self) -> bool:
        clock = self.deadline.clock
        limits = self.deadline.limits
        needed_s = limits.backend_timeout_s + limits.commit_budget_s
        is_within_budget = clock.since(self.deadline.started) < BUDGET_S
        return is_within_budget and self.deadline.remaining_s() > min(needed_s, BUDGET_S)

    async def _look(self, operation_id: OperationId) -> Verdict | None:
        held = await self.store.read(operation_id)
        if held is None:
            # A swap of nothing by nothing takes it off the index, unless there is something.
            await self.store.swap(operation_id, seen=None, record=None)
            return None
        clock = self.deadline.clock
        holding = Holding(
            store=self.store,
            clock=clock,
            operation_id=operation_id,
            held=held,
            heard_at=clock.now(),
            lease=(clock.now(), lease_ms := self.deadline.lease_ms()),
        )
        verdict = await holding.obey(Sweep(attempt=self.new_id(), lease_ms=lease_ms))
        if isinstance(verdict, Ask):
            verdict = await self._ask(holding, verdict.record)
        await self._put_back(operation_id, holding, verdict)
        return verdict

    async def _ask(self, holding: Holding, own: Record) -> Verdict:
        timeout_s = self.deadline.backend_timeout_s()
        asked_age_ms = holding.since_heard_ms()
        command = self.find(own.tool)
        heard = await ask(command, own, timeout_s=timeout_s, asked_age_ms=asked_age_ms)
        return await holding.obey(heard)

    async def _put_back(
        self, operation_id: OperationId, holding: Holding, verdict: Verdict
    ) -> None:
        match verdict:
            case Tell(InProgress(after_ms=after_ms)):
                await self.store.rescore(operation_id, after_ms=after_ms)
            case Tell(InDoubt(fault=fault)):
                LOG.warning("in_doubt", extra={"operation_id": operation_id, "code": fault.code})
                await self.store.rescore(operation_id, after_ms=0)
            case Tell(StoreUnavailable()):
                await self.store.rescore(operation_id, after_ms=0)
            case _ if isinstance(holding.held, Seen):
                # Already settled: the swap by itself takes it off the index.
                seen = holding.held
                await self.store.swap(operation_id, seen=seen, record=seen.record)
            case _:
                pass


def _counted(swept: Swept, verdict: Verdict | None) -> Swept:
    looked = swept.looked + 1
    match verdict:
        case Tell(InDoubt() | StoreUnavailable() | Succeeded(recorded=False)):
            return replace(swept, looked=looked, in_doubt=swept.in_doubt + 1)
        case None | Tell(InProgress()) | Run() | Ask():
            return replace(swept, looked=looked)
        case Tell():
            return replace(swept, looked=looked, settled=swept.settled + 1)
