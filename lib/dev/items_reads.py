"""What the items service can be asked: each function reads inside the transaction it is given."""

import json
import sqlite3
from typing import Any

from lib.dev.items_db import RefusedError

NOTICES_SHOWN = 100

type Fields = dict[str, Any]  # a JSON object on its way to the wire


def find_item(db: sqlite3.Connection, item_id: str) -> Fields:
    """Find an item that is not deleted.

    Raises:  RefusedError: `not_found`.
    """
    return _one(
        db,
        "SELECT id, name, quantity, version FROM items WHERE id = ? AND NOT is_deleted",
        item_id,
    )


def list_items(
    db: sqlite3.Connection, *, after: int, limit: int, text: str
) -> tuple[list[Fields], int | None]:
    """List items in the order they were created, and the number to go on after, if there are more.

    Args:    text: a part of the name, in any case; a `%` is a `%`.
    """
    rows = db.execute(
        "SELECT seq, id, name, quantity, version FROM items"
        " WHERE seq > ? AND NOT is_deleted AND instr(folded, ?) ORDER BY seq LIMIT ?",
        (after, text.casefold(), limit + 1),
    ).fetchall()
    items = [dict(row) for row in rows[:limit]]
    last = [item.pop("seq") for item in items][-1:]
    return items, last[0] if len(rows) > limit else None


def find_operation(db: sqlite3.Connection, reference: str) -> Fields:
    """Find the newest change under a reference; `count` tells when there are several.

    Raises:  RefusedError: `not_found`.
    """
    rows = db.execute(
        "SELECT reference, item_id, request, item FROM changes WHERE reference = ?"
        " ORDER BY seq DESC",
        (reference,),
    ).fetchall()
    if not rows:
        raise RefusedError("not_found", "nothing under this reference")
    found: Fields = dict(rows[0])
    found |= {name: json.loads(found[name]) for name in ("request", "item")}
    return found if len(rows) == 1 else found | {"count": len(rows)}


def find_label(db: sqlite3.Connection, reference: str) -> Fields:
    """Find a label by its reference.

    Raises:  RefusedError: `not_found`.
    """
    return _one(
        db, "SELECT id, item_id, text, reference FROM labels WHERE reference = ?", reference
    )


def newest_notices(db: sqlite3.Connection) -> Fields:
    """Count all notices, and list the newest."""
    (count,) = db.execute("SELECT COUNT(*) FROM notices").fetchone()
    rows = db.execute(
        "SELECT item_id, message FROM notices ORDER BY seq DESC LIMIT ?", (NOTICES_SHOWN,)
    ).fetchall()
    return {"count": count, "notices": [dict(row) for row in rows]}


def _one(db: sqlite3.Connection, query: str, name: str) -> Fields:
    row = db.execute(query, (name,)).fetchone()
    if row is None:
        raise RefusedError("not_found", "no such thing")
    return dict(row)
