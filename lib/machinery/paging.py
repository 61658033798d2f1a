"""Pages of a listing: bounded in rows and bytes, with cursors that fit no other query.

A page that would be too large is cut, and its cursor remembers where inside the backend's page.
Source: DESIGN §6; MCP 2026-07-28 (opaque, server-minted handles as ordinary arguments).
"""

import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from lib.contract import PageArguments, Principal
from lib.machinery.inputs import InputError
from lib.machinery.runner.fingerprint import UnfitForJsonError, as_json, canonical

if TYPE_CHECKING:
    from mcp.server.request_state import AESGCMRequestStateCodec

MAX_BYTES = 256 * 1024  # of structured content; 1 KiB of it for what is around the rows
ROW_BYTES = MAX_BYTES - 1024
PLACE = {"cursor", "limit"}  # where in a query a page is, not which query it is


class RowTooLargeError(Exception):
    """One row alone is above what an answer may hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a page begins: the backend's cursor, the limit it was asked with, rows to skip."""

    cursor: str | None
    limit: int
    skip: int = 0


@dataclass(frozen=True, kw_only=True)
class Cursors:
    """Mints and reads the cursors of one query. secret: at least one character."""

    secret: str
    tool: str
    principal: Principal
    arguments: PageArguments

    def start(self) -> Position:
        """Find where the asked page begins.

        Raises: InputError: the cursor is not one of this query's.
        """
        from mcp.server.request_state import InvalidRequestState

        given, limit = self.arguments.cursor, self.arguments.limit
        if given is None:
            return Position(cursor=None, limit=limit)
        try:
            sealed = json.loads(self._codec.unseal(given))
        except (InvalidRequestState, ValueError):
            raise InputError("cursor: Input should be the next_cursor of the page before") from None
        if sealed["for"] != self._query:
            raise InputError("cursor: Input belongs to another query; leave it out to start anew")
        at = Position(**sealed["at"])
        # Inside a page of the backend's, the limit it was asked with says where that page ends.
        return at if at.skip else replace(at, limit=limit)

    def mint(self, position: Position) -> str:
        """Seal a position for the same query only."""
        sealed = {"for": self._query, "at": asdict(position)}
        return self._codec.seal(json.dumps(sealed).encode())

    @cached_property
    def _query(self) -> list[str]:
        try:
            asked = as_json(self.arguments)
            query = {name: value for name, value in asked.items() if name not in PLACE}
            digest = sha256(canonical([self.tool, query])).hexdigest()
        except UnfitForJsonError as fault:
            raise InputError(fault.problem) from None
        return [self.principal.issuer, self.principal.subject, digest]

    @cached_property
    def _codec(self) -> "AESGCMRequestStateCodec":
        from mcp.server.request_state import AESGCMRequestStateCodec

        digest = sha256(b"settle:cursor:" + self.secret.encode()).hexdigest()
        return AESGCMRequestStateCodec([digest])


def cut(page: dict[str, Any], start: Position, limit: int) -> Position | None:
    """Cut a dumped page in place to its limits, and tell where the next one begins.

    Raises: RowTooLargeError: not even one row fits.
    """
    rows: list[Any] = page["items"][start.skip :]
    fitting = _fitting(rows[:limit])
    if rows and not fitting:
        raise RowTooLargeError
    page["items"] = rows[:fitting]
    if fitting < len(rows):
        return Position(cursor=start.cursor, limit=start.limit, skip=start.skip + fitting)
    cursor = page["next_cursor"]
    return None if cursor is None else Position(cursor=cursor, limit=limit)


def _fitting(rows: list[Any]) -> int:
    left = ROW_BYTES
    for count, row in enumerate(rows):
        left -= len(json.dumps(row, ensure_ascii=False).encode()) + 2
        if left < 0:
            return count
    return len(rows)
