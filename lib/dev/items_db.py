"""The items service's memory: SQLite, one transaction per request.

An effect and the answer remembered under its key commit together, so that a process killed at any
moment leaves both or neither. Deleted items stay as rows, so that effects can be counted.
"""

import sqlite3
import threading
import weakref
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

_BUSY_S = 5.0  # another process may hold the write lock

_TABLES = """
CREATE TABLE IF NOT EXISTS items (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    folded TEXT NOT NULL, quantity INTEGER NOT NULL, version INTEGER NOT NULL,
    is_deleted INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS keys (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, status INTEGER NOT NULL, answer TEXT NOT NULL,
    kept_at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS keys_by_age ON keys (kept_at);
CREATE TABLE IF NOT EXISTS changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, reference TEXT NOT NULL, item_id TEXT NOT NULL,
    request TEXT NOT NULL, item TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS changes_by_reference ON changes (reference);
CREATE TABLE IF NOT EXISTS notices (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, item_id TEXT NOT NULL, message TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS labels (
    id TEXT PRIMARY KEY, item_id TEXT NOT NULL, text TEXT NOT NULL, reference TEXT NOT NULL UNIQUE);
"""


class RefusedError(Exception):
    """The service refuses: a code of the wire, and a sentence. Nothing was stored.

    Args:    status: where it is not the one that the code always has.
    """

    def __init__(self, code: str, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What the service did in its life, whoever asked for it."""

    created: int
    changed: int
    deleted: int
    notices: int
    labels: int


def count_effects(path: Path) -> Effects:
    """Count the effects in the database of a service, also of one that runs elsewhere or died."""
    with closing(_connect(path)) as db:
        row = db.execute(
            "SELECT (SELECT COUNT(*) FROM items) AS created,"
            " (SELECT COUNT(*) FROM changes) AS changed,"
            " (SELECT COUNT(*) FROM items WHERE is_deleted) AS deleted,"
            " (SELECT COUNT(*) FROM notices) AS notices,"
            " (SELECT COUNT(*) FROM labels) AS labels"
        ).fetchone()
        return Effects(**dict(row))


def _connect(path: Path) -> sqlite3.Connection:
    # Any thread may use a connection, one at a time.
    db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA synchronous = NORMAL")  # survives the process; power loss may cost the tail
    return db


class ItemsDb:
    """A database file and this process's one connection to it, on which transactions queue.

    The connection stays open: the last one to close folds the log back, which costs an fsync.
    """

    def __init__(self, path: Path) -> None:
        self._db = _connect(path)
        self._turn = threading.Lock()
        weakref.finalize(self, self._db.close)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.executescript(_TABLES)

    @contextmanager
    def write(self) -> Generator[sqlite3.Connection]:
        """Open a transaction that commits at the end of the block, or leaves nothing behind."""
        with self._transaction("BEGIN IMMEDIATE") as db:
            yield db

    @contextmanager
    def read(self) -> Generator[sqlite3.Connection]:
        """Open a transaction that sees one state of the database."""
        with self._transaction("BEGIN") as db:
            yield db

    @contextmanager
    def _transaction(self, begin: str) -> Generator[sqlite3.Connection]:
        with self._turn:
            self._db.execute(begin)
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
