"""From what a request asks to what the engine replied: permissions, scripts, transactions, count.

A pipeline's commands stand alone: one that is refused leaves the others be. A transaction stands
or falls as a whole.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from lib.dev.billing import Counted
from lib.dev.key_locking import Scripts
from lib.dev.permissions import Permissions
from lib.dev.resp import Command, ErrorReply, Pool, Reply
from lib.dev.rest import Asked, NotAskedError, Shape

_DISCARDED = "EXECABORT Transaction discarded because of previous errors."


class Executor:
    """The way to one engine, in one event loop."""

    def __init__(self, pool: Pool, permissions: Permissions, *, is_counted: bool) -> None:
        self._pool = pool
        self._permissions = permissions
        self._counted = Counted(pool) if is_counted else None
        self._scripts = Scripts()

    @classmethod
    async def open(cls, socket_path: Path, *, is_counted: bool) -> Self:
        """Connect, and learn which commands there are.

        Raises:  EngineGoneError: nobody answers at `socket_path`.
        """
        pool = Pool(socket_path)
        return cls(pool, await Permissions.of(pool), is_counted=is_counted)

    async def execute(self, asked: Asked, *, is_read_only: bool) -> tuple[list[Reply], int]:
        """Give one reply per command, and what they are billed (0 where nobody counts).

        Raises:  NotAskedError: a transaction was discarded; nothing of it was executed.
                 EngineGoneError: some of it, or all, may have been executed.
        """
        refusals = [
            self._permissions.refusal(command, is_read_only=is_read_only)
            for command in asked.commands
        ]
        if asked.shape is Shape.TRANSACTION:
            if any(refusals):
                raise NotAskedError(400, _DISCARDED)
            return await self._transact(asked.commands)
        pairs = zip(asked.commands, refusals, strict=True)
        passed = [command for command, refusal in pairs if refusal is None]
        done, billed = await self._exchange(passed) if passed else ([], 0)
        left = iter(done)
        return [next(left) if no is None else ErrorReply(no) for no in refusals], billed

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()

    async def _transact(self, commands: Sequence[Command]) -> tuple[list[Reply], int]:
        batch = [(b"MULTI",), *commands, (b"EXEC",)]
        (*_, done), billed = await self._exchange(batch)
        if not isinstance(done, list):
            raise NotAskedError(400, done.text if isinstance(done, ErrorReply) else _DISCARDED)
        return done, billed

    async def _exchange(self, commands: Sequence[Command]) -> tuple[list[Reply], int]:
        batch = [self._scripts.to_engine(command) for command in commands]
        if self._counted is None:
            replies, billed = await self._pool.exchange(batch), 0
        else:
            replies, billed = await self._counted.exchange(batch)
        pairs = zip(commands, replies, strict=True)
        return [self._scripts.from_engine(*pair) for pair in pairs], billed
