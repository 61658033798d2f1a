"""RESP2 on a unix socket: batches of commands over a small pool of connections.

A batch stays on one connection and nothing is sent between its commands, so MULTI … EXEC cannot
interleave with anybody else's. Error codes survive (client libraries strip them). Nothing is ever
sent twice: a connection that failed in the middle is thrown away, and the caller is told.
Source: the RESP2 specification.
"""

import asyncio
import os
from asyncio import StreamReader, StreamWriter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

POOL_SIZE = 16  # the engine executes on one thread; more only lengthens its queue
_LINE_LIMIT = 1 << 20  # bytes of one line: status, error, number

type Command = tuple[bytes, ...]
type Reply = bytes | int | ErrorReply | list[Reply] | None


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error as the engine says it, code first."""

    text: str


class EngineGoneError(Exception):
    """The engine cannot be reached, or left while a batch was under way."""


class _Connection:
    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def is_usable(self) -> bool:
        return not (self._reader.at_eof() or self._writer.is_closing())

    async def exchange(self, batch: Sequence[Command]) -> list[Reply]:
        # No drain: the engine answers while it reads, and somebody has to take the answers.
        self._writer.write(b"".join(_encoded(command) for command in batch))
        return [await _read_reply(self._reader) for _ in batch]

    def abandon(self) -> None:
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


class Pool:
    """At most POOL_SIZE connections to one engine, opened when needed, in one event loop."""

    def __init__(self, socket_path: Path) -> None:
        self._path = socket_path
        self._slots = asyncio.Semaphore(POOL_SIZE)
        self._idle: list[_Connection] = []

    async def exchange(self, batch: Sequence[Command]) -> list[Reply]:
        """Send a batch and give one reply per command.

        Raises:  EngineGoneError: some of the batch, or all of it, may have been executed.
        """
        async with self._slots:
            connection = await self._take()
            try:
                replies = await connection.exchange(batch)
            except (OSError, EOFError) as gone:
                connection.abandon()
                raise EngineGoneError("the engine left in the middle of a batch") from gone
            except BaseException:
                connection.abandon()
                raise
            self._idle.append(connection)
            return replies

    async def _take(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            connection.abandon()
        try:
            streams = await asyncio.open_unix_connection(os.fspath(self._path), limit=_LINE_LIMIT)
        except OSError as gone:
            raise EngineGoneError(f"no engine answers at {self._path}") from gone
        return _Connection(*streams)

    async def aclose(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.pop().close()


def _encoded(command: Command) -> bytes:
    parts = [b"*%d\r\n" % len(command)]
    for argument in command:
        parts += (b"$%d\r\n" % len(argument), argument, b"\r\n")
    return b"".join(parts)


async def _read_reply(reader: StreamReader) -> Reply:
    line = await reader.readuntil(b"\r\n")
    kind, rest = line[:1], line[1:-2]
    match kind:
        case b"+":
            return rest
        case b"-":
            return ErrorReply(rest.decode(errors="replace"))
        case b":":
            return int(rest)
        case b"$":
            size = int(rest)
            return None if size < 0 else (await reader.readexactly(size + 2))[:-2]
        case _:
            count = int(rest)
            return None if count < 0 else [await _read_reply(reader) for _ in range(count)]
