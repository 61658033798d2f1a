"""Stops a request at one exact point, so that its sender can be killed there and nowhere else."""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Literal

from lib.dev.faults import Exchange, hold
from lib.dev.wire import Cut, Sent

STANDS_S = 20

type Executes = Literal["first", "late", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A request that gets no answer before `released` is set; `reached` says that it stands.

    executes: before it stands there, only when it is released, or never. over: it was played out.
    """

    executes: Executes
    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    async def stands(self) -> bool:
        """Wait until a request stands here; False if none does, even on a busy machine."""
        return await asyncio.to_thread(self.reached.wait, STANDS_S)

    async def play(self, exchange: Exchange, /) -> Sent:
        """Stand still."""
        answer: Sent = Cut(is_reset=False)
        if self.executes == "first":
            answer = await exchange.execute()
        self.reached.set()
        await hold(self.released)
        if self.executes == "late":
            answer = await exchange.execute()
        self.over.set()
        return answer
