"""What Upstash would bill: each command, and inside a script every `redis.call` beside the script.

The engine counts calls. Its counters are read before and after a batch on the batch's own
connection, with every other counted batch kept out meanwhile; so this is for tests, not for speed.
Nobody else may use the engine while it counts. A command refused for its form is not counted.
Source: Upstash's pricing page for its rate limiter, which counts so.
"""

import asyncio
from collections.abc import Sequence

from lib.dev.resp import Command, Pool, Reply

_COUNTERS: Command = (b"INFO", b"commandstats")
# Our own: reading the counters, bracketing a transaction, guarding a script's keys.
_OURS = frozenset({"info", "multi", "exec", "command|getkeys"})


class Counted:
    """Batches whose calls are counted; belongs to one event loop."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._alone = asyncio.Lock()

    async def exchange(self, batch: Sequence[Command]) -> tuple[list[Reply], int]:
        """Send a batch; gives the replies and what they would be billed."""
        async with self._alone:
            before, *replies, after = await self._pool.exchange([_COUNTERS, *batch, _COUNTERS])
        return replies, _calls(after) - _calls(before)


def _calls(info: Reply) -> int:
    if not isinstance(info, bytes):
        raise TypeError(f"INFO answered {info!r}")
    total = 0
    for line in info.decode().splitlines():
        name, _, fields = line.removeprefix("cmdstat_").partition(":calls=")
        if fields and name not in _OURS:
            total += int(fields.partition(",")[0])
    return total
