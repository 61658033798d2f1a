"""The sweeper: finds open records that nobody holds any more, and settles what can be proved.

It asks, and never sends a command. It takes no live lease, may be killed anywhere, and may run
twice at once: each record is taken by a swap, and a second sweeper finds the first one's lease.
Source: PROTOCOL §9 (how many, how long).
"""

import logging
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, assert_never

from lib.contract import Command, OperationId
from lib.machinery.outcome import InDoubt, InProgress, StoreUnavailable, Succeeded
from lib.machinery.runner.deadline import Deadline
from lib.machinery.runner.events import Ask, Run, Sweep, Tell, Verdict
from lib.machinery.runner.evidence import ask
from lib.machinery.runner.holding import Holding
from lib.machinery.runner.record import Record, Unreadable
from lib.machinery.runner.store import Held, Store, StoreSilentError

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


@dataclass(frozen=True, slots=True)
class _Look:
    """What became of one record. held: as it was found; None, and no verdict, where none is.

    is_moved: it is not as it was found any more.
    """

    verdict: Verdict | None
    held: Held
    _: KW_ONLY
    is_moved: bool = False


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
                look = await self._look(operation_id)
                swept = _counted(swept, look.verdict)
                await self._put_back(operation_id, look)
            except StoreSilentError:
                silences += 1
                if silences == MAX_SILENCES:
                    break
        swept = replace(swept, left=max(0, count - swept.looked))
        LOG.info("swept", extra={"counts": swept})
        return swept

    def _has_time(self) -> bool:
        clock = self.deadline.clock
        limits = self.deadline.limits
        needed_s = limits.backend_timeout_s + limits.commit_budget_s
        is_within_budget = clock.since(self.deadline.started) < BUDGET_S
        return is_within_budget and self.deadline.remaining_s() > min(needed_s, BUDGET_S)

    async def _look(self, operation_id: OperationId) -> _Look:
        held = await self.store.read(operation_id)
        if held is None:
            return _Look(None, None)
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
        is_moved = holding.held is not held and not isinstance(holding.held, Unreadable)
        return _Look(verdict, held, is_moved=is_moved)

    async def _ask(self, holding: Holding, own: Record) -> Verdict:
        timeout_s = self.deadline.backend_timeout_s()
        asked_age_ms = holding.since_heard_ms()
        command = self.find(own.tool)
        heard = await ask(command, own, timeout_s=timeout_s, asked_age_ms=asked_age_ms)
        return await holding.obey(heard)

    async def _put_back(self, operation_id: OperationId, look: _Look) -> None:
        if isinstance(look.verdict, Tell) and isinstance(look.verdict.outcome, InDoubt):
            code = look.verdict.outcome.fault.code
            LOG.warning("in_doubt", extra={"operation_id": operation_id, "code": code})
        if look.is_moved:
            return  # whoever moved it, the same script put the index right
        match look.verdict, look.held:
            case Tell(InProgress(after_ms=after_ms)), _:
                await self.store.rescore(operation_id, after_ms=after_ms)
            case (Tell(InDoubt() | StoreUnavailable()), _) | (_, Unreadable()):
                await self.store.rescore(operation_id, after_ms=0)
            case _:
                # Gone, or settled before: a swap of what is there takes it off the index.
                record = None if look.held is None else look.held.record
                await self.store.swap(operation_id, seen=look.held, record=record)


def _counted(swept: Swept, verdict: Verdict | None) -> Swept:
    looked = swept.looked + 1
    match verdict:
        case Tell(InDoubt() | StoreUnavailable() | Succeeded(recorded=False)):
            return replace(swept, looked=looked, in_doubt=swept.in_doubt + 1)
        case None | Tell(InProgress()) | Run() | Ask():
            return replace(swept, looked=looked)
        case Tell():
            return replace(swept, looked=looked, settled=swept.settled + 1)
        case _:
            assert_never(verdict)
