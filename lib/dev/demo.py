"""The demo: a function killed between the backend's write and its answer, without and with Settle.

Nothing in it is staged but the moment: real processes, a real SIGKILL, a real MCP client that
retries as clients do. `lib/dev/demo_verdict.py` says whether what was seen is the story.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from lib.dev.data_lock import EngineStartError
from lib.dev.demo_stage import NotStartedError, Stage, stages
from lib.dev.demo_verdict import Answer, Broken, Half, Json, differences, is_pending
from lib.dev.reload import ended_by
from lib.dev.server_process import APP
from lib.dev.stopping import run

UNGUARDED = "lib.dev.unguarded:create_app()"
KEY = "desk-for-order-1042"
MAX_CALLS = 5


@dataclass(slots=True)
class Teller:
    """Prints each step with the seconds since the beginning."""

    console: Console
    began: float

    def title(self, text: str) -> None:
        """Begin a part."""
        self.console.print(Text(f"\n{text}\n", style="bold"))

    def say(self, text: str, style: str = "") -> None:
        """Tell one step."""
        seconds = f"{time.monotonic() - self.began:5.1f} s  "
        margin = " " * len(seconds)
        for line in wrap(text, self.console.width - len(margin)):
            self.console.print(Text.assemble((seconds, "dim"), (line, style)), soft_wrap=True)
            seconds = margin


def demo(shell: Mapping[str, str], *, unguarded: str = UNGUARDED, guarded: str = APP) -> int:
    """Tell the story; the exit status is 0 only if it came true."""
    teller = Teller(Console(highlight=False, emoji=False), time.monotonic())
    teller.title("A function is killed after the backend's write and before its own answer.")
    teller.say("Starting a store, a backend, and two servers in processes of their own.")
    with TemporaryDirectory(prefix="settle-demo-") as folder:
        try:
            with stages(Path(folder), shell, unguarded, guarded) as (without, settled):
                differs = run(_tell(teller, without, settled))
        except (NotStartedError, EngineStartError) as fault:
            differs = [str(fault)]
    return conclude(teller, differs)


def conclude(teller: Teller, differs: list[str]) -> int:
    """Say whether the story came true; the exit status."""
    if not differs:
        teller.title("The same kill, the same retry: two items without Settle, one with it.")
        return 0
    teller.title("This is not the story that was promised:")
    for difference in differs:
        teller.say(difference, "red")
    return 1


async def _tell(teller: Teller, without: Stage, settled: Stage) -> list[str]:
    await without.warm()
    await settled.warm()
    teller.title("1  Without Settle: the tool posts to the backend, and answers")
    one = await _Act(teller, without, {"name": "lamp", "quantity": 1}).play()
    teller.title("2  With Settle: the same tool, under an idempotency key")
    desk = {"name": "desk", "quantity": 1, "idempotency_key": KEY}
    two = await _Act(teller, settled, desk).play()
    operation = await settled.call("get_operation", idempotency_key=KEY)
    if isinstance(operation, dict) and operation.get("known"):
        teller.say(
            f"get_operation tells it to whoever asks later: {operation['outcome']},"
            f" after {operation['attempts']} attempts."
        )
    return differences(one, two, operation)


@dataclass(slots=True)
class _Act:
    """One half of the story."""

    teller: Teller
    stage: Stage
    arguments: Json
    half: Half = field(default_factory=Half)

    async def play(self) -> Half:
        """Let a call be killed, retry it as told, and count."""
        await self._be_killed()
        self.stage.start()
        await self.stage.warm()
        pid = self.stage.server.popen.pid
        self.teller.say(f"A new server, process {pid}, takes over. The client retries.")
        while len(self.half.answers) < MAX_CALLS:
            answer = await self.stage.call("create_item", **self.arguments)
            self.half.answers.append(answer)
            if not await self._waited(answer):
                break
        name = self.arguments["name"]
        self.half.items = await self.stage.items(name)
        count = len(self.half.items)
        self.teller.say(
            f'The backend has {count} {"item" if count == 1 else "items"} named "{name}".', "bold"
        )
        return self.half

    async def _be_killed(self) -> None:
        under = " under a key" if "idempotency_key" in self.arguments else ""
        self.teller.say(f'The client calls create_item for a "{self.arguments["name"]}"{under}.')
        victim = self.stage.aim()
        self.half.killed = await self.stage.call("create_item", **self.arguments)
        if await self._waited(self.half.killed):  # a slow machine: nothing was sent yet
            self.half.killed = await self.stage.call("create_item", **self.arguments)
        self.half.status = await victim.ended()
        if self.half.status is not None:
            self.teller.say(
                f"The backend has stored the item. The server, process {victim.popen.pid},"
                f" {ended_by(self.half.status)} before it could say so.",
                "red",
            )
        if isinstance(self.half.killed, Broken):
            fault = self.half.killed.fault
            self.teller.say(f"The client gets {fault}: it cannot know what happened.")

    async def _waited(self, answer: Answer) -> bool:
        """Tell an answer, and wait if it says to come back; False if it does not."""
        if isinstance(answer, Broken):
            return False
        outcome = answer.get("outcome")
        if not is_pending(answer):
            made = answer.get("result") or answer
            how = f"{outcome}, {answer.get('this_call')}: " if outcome else ""
            self.teller.say(f"The answer: {how}item {made.get('id')}.")
            return False
        after_s = answer["retry"]["after_ms"] / 1000
        self.teller.say(f"The answer: {outcome}, retry with the same key after {after_s:.1f} s.")
        await asyncio.sleep(after_s)
        return True
