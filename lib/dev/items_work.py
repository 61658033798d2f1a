"""The items service at work: requests become transactions, and their keys are in use meanwhile."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from starlette.requests import Request

from lib.dev.faulty import Faults
from lib.dev.items_db import ItemsDb, RefusedError
from lib.dev.items_reads import Fields
from lib.dev.items_writes import Keyed, Reply
from lib.dev.wire import Request as RawRequest

type Write = Callable[[sqlite3.Connection], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A write that is committed and not yet answered; `under` is its key or reference."""

    method: str
    path: str
    under: str | None
    answer: str


class Work:
    """One process's access to the database, with the hooks that tests need in the middle of it."""

    def __init__(
        self,
        path: Path,
        *,
        faults: Faults,
        on_written: Callable[[Written], None],
        clock: Callable[[], float],
    ) -> None:
        self._db = ItemsDb(path)
        self._faults = faults
        self._on_written = on_written
        self._clock = clock
        self._keys_in_use: set[str] = set()

    async def read[T](self, read: Callable[[sqlite3.Connection], T]) -> T:
        """Read in one transaction."""

        def run() -> T:
            with self._db.read() as db:
                return read(db)

        return await asyncio.to_thread(run)

    async def write(self, request: Request, write: Write, *, under: str | None) -> Reply:
        """Write in one transaction, then tell `on_written`."""
        await self._faults.hold_inside(await _raw(request))

        def run() -> Reply:
            with self._db.write() as db:
                done = write(db)
            if not done.is_replay:
                path = request.scope["path"]
                self._on_written(
                    Written(method=request.method, path=path, under=under, answer=done.text)
                )
            return done

        return await asyncio.to_thread(run)

    async def write_once(self, request: Request, write: Write, *, key: str, asked: Fields) -> Reply:
        """Write unless the key has an answer already.

        Args:    asked: the checked body; with method and path it is what the key stands for.

        Raises:  RefusedError: `key_in_use`, `key_reused`.
        """
        fingerprint = json.dumps([request.method, request.scope["path"], asked])
        keyed = Keyed(key=key, request=fingerprint, now=self._clock())
        with self._using(key):
            return await self.write(
                request, lambda db: keyed.once(db, partial(write, db)), under=key
            )

    @contextmanager
    def _using(self, key: str) -> Generator[None]:
        # In memory, so that a killed process leaves no key behind that nobody uses any more.
        if key in self._keys_in_use:
            raise RefusedError("key_in_use", "a request with this key is still running")
        self._keys_in_use.add(key)
        try:
            yield
        finally:
            self._keys_in_use.discard(key)


async def _raw(request: Request) -> RawRequest:
    return RawRequest(
        method=request.method,
        path=request.scope["path"],
        query=request.url.query,
        headers=request.headers,
        body=await request.body(),
    )
