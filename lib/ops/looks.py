"""An operation as the store holds it, and the ways to find one.

The open index tells which are open; records are read in batches. Nothing here decides a command:
a replica may answer.
Source: PROTOCOL §3 (read), §4 (when an operator's word counts).
"""

import re
from dataclasses import dataclass
from typing import Literal

from lib.contract import OperationId
from lib.machinery.runner.record import Seen, Unreadable, open_index
from lib.machinery.runner.store import Held, Store
from lib.machinery.runner.transitions import horizon_left_ms, in_doubt
from lib.ops.answer import CannotError

BATCH = 100  # records a round trip
IDS = 5_000  # index members a round trip
FULL = 64  # digits
SHORTEST = 8  # digits that may stand for an open operation
ID = re.compile(rf"[0-9a-f]{{{SHORTEST},{FULL}}}")

Next = Literal["running", "caller", "sweeper", "person", "settled", "gone", "unreadable"]


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of one operation."""

    operation_id: OperationId
    held: Held

    @property
    def next(self) -> Next:
        """Tell who can find out what became of it."""
        match self.held:
            case None:
                return "gone"
            case Unreadable():
                return "unreadable"
            case Seen(record=record) if not record.is_open:
                return "settled"
            case Seen(record=record, age_ms=age_ms) if record.is_live(age_ms):
                return "running"
            case Seen(record=record, age_ms=age_ms):
                if in_doubt(record, age_ms).after_ms is None:
                    return "person"
                return "sweeper" if record.backend.can_ask else "caller"

    @property
    def needs_attention(self) -> bool:
        """Nobody is at work on it, and it is not settled without contradiction."""
        if isinstance(self.held, Seen) and self.held.record.conflicts:
            return True
        return self.next not in {"running", "settled", "gone"}


def lease_left_ms(seen: Seen) -> int:
    """Tell how long its attempt may still run; 0 where none may."""
    return seen.record.lease_ms - seen.age_ms if seen.record.is_live(seen.age_ms) else 0


def resolvable_in_ms(seen: Seen) -> int | None:
    """Tell when a person's word may settle it; None where it is settled."""
    if not seen.record.is_open:
        return None
    return max(lease_left_ms(seen), horizon_left_ms(seen.record, seen.age_ms))


async def open_looks(store: Store, limit: int) -> tuple[list[Look], int]:
    """Look at the open operations that fell due first, and count all of them.

    Raises: StoreSilentError: no reply.
    """
    index = open_index(store.environment)
    pipeline = store.redis.pipeline()
    pipeline.zrange(index, 0, limit - 1).zcard(index)
    ids, total = await store.bounded(pipeline.exec)
    looks: list[Look] = []
    for start in range(0, len(ids), BATCH):
        batch = [OperationId(each) for each in ids[start : start + BATCH]]
        looks += map(Look, batch, await store.read_many(batch))
    return looks, total


async def find(store: Store, text: str) -> OperationId:
    """Tell the operation that is meant: a full id, or the first digits of one open one.

    Raises: CannotError: no id, or not exactly one. StoreSilentError: no reply.
    """
    wanted = text.lower()
    if not ID.fullmatch(wanted):
        said = f"An operation id is {FULL} hex digits; the first {SHORTEST} of an open one will do."
        raise CannotError("usage", said)
    if len(wanted) == FULL:
        return OperationId(wanted)
    found = [each for each in await _open_ids(store) if each.startswith(wanted)]
    if len(found) == 1:
        return OperationId(found[0])
    where = f"open in {store.environment}"
    if found:
        said = f"{len(found)} operations {where} begin with {wanted}: give more digits."
        raise CannotError("ambiguous", said)
    said = f"No operation {where} begins with {wanted}; a settled one needs its full id."
    raise CannotError("not_found", said)


async def is_indexed(store: Store, operation_id: OperationId) -> bool:
    """Tell whether an operation is open in this very environment.

    Raises: StoreSilentError: no reply.
    """
    command = ["ZSCORE", open_index(store.environment), operation_id]
    return await store.bounded(lambda: store.redis.execute(command)) is not None


async def _open_ids(store: Store) -> list[str]:
    found: set[str] = set()  # the index moves between two pages
    start = 0
    while True:
        command = ["ZRANGE", open_index(store.environment), start, start + IDS - 1]
        page: list[str] = await store.bounded(lambda command=command: store.redis.execute(command))
        found.update(page)
        start += IDS
        if len(page) < IDS:
            return sorted(found)
