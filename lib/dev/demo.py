"""The demo: a function killed between the backend's write and its answer, without and with Settle.

Nothing in it is staged but the moment: real processes, a real SIGKILL, a real MCP client that
retries as clients do. It says what it saw, and fails if that is not the story.
"""

import asyncio
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from lib.dev.demo_stage import Broken, Json, NotStartedError, Stage, stages
from lib.dev.reload import ended_by
from lib.dev.server_process import APP

UNGUARDED = "lib.dev.unguarded:create_app()"
KEY = "order-1042-desk"
MAX_RETRIES = 5


@dataclass(slots=True, kw_only=True)
class Seen:
    """What one half of the story showed. answers: those of the retries, in their order."""

    status: int | None = None
    first: Json | Broken = field(default_factory=dict[str, object])
    answers: list[Json | Broken] = field(default_factory=list["Json | Broken"])
    items: list[Json] = field(default_factory=list[Json])
    operation: Json | Broken = field(default_factory=dict[str, object])


def demo(shell: Mapping[str, str], *, unguarded: str = UNGUARDED, guarded: str = APP) -> int:
    """Tell the story; the exit status is 0 only if it came true."""
    console = Console(highlight=False, emoji=False)
    with TemporaryDirectory(prefix="settle-demo-") as folder:
        try:
            with stages(Path(folder), shell, unguarded, guarded) as (without, with_settle):
                differences = asyncio.run(Teller(console).tell(without, with_settle))
        except NotStartedError as fault:
            differences = [str(fault)]
    return conclude(console, differences)


def conclude(console: Console, differences: list[str]) -> int:
    ...
