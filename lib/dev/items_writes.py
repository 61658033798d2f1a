"""What the items service can be told: each function writes inside the transaction it is given."""

import json
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lib.dev.items_db import RefusedError
from lib.dev.items_reads import Fields, find_item

KEY_WINDOW_S = 24 * 3600.0  # declared to the callers: an older key is forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A success as JSON text; `is_replay` when it was remembered under a key."""

    status: int
    text: str
    is_replay: bool = False


def reply(status: int, fields: Fields) -> Reply:
    """Write a success down, so that the first answer and its replays are the same bytes."""
    return Reply(status=status, text=json.dumps(fields, ensure_ascii=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """A request under a key: the same key stands for the same `request`, until the window ends."""

    key: str
    request: str
    now: float

    def once(self, db: sqlite3.Connection, effect: Callable[[], Reply]) -> Reply:
        """Have the effect and remember its answer, or give the answer remembered.

        A refusal is not remembered: the transaction that would keep it is the one it ends.

        Raises:  RefusedError: `key_reused`, or what `effect` raises.
        """
        db.execute("DELETE FROM keys WHERE kept_at < ?", (self.now - KEY_WINDOW_S,))
        kept = db.execute(
            "SELECT request, status, answer FROM keys WHERE key = ?", (self.key,)
        ).fetchone()
        if kept is None:
            first = effect()
            row = (self.key, self.request, first.status, first.text, self.now)
            db.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?)", row)
            return first
        if kept["request"] != self.request:
            raise RefusedError("key_reused", "this key was used for another request")
        return Reply(status=kept["status"], text=kept["answer"], is_replay=True)


def create_item(db: sqlite3.Connection, *, name: str, quantity: int) -> Reply:
    """Create an item under a new id."""
    item_id = secrets.token_hex(8)
    db.execute(
        "INSERT INTO items (id, name, folded, quantity, version) VALUES (?, ?, ?, ?, 1)",
        (item_id, name, name.casefold(), quantity),
    )
    return reply(201, find_item(db, item_id))


def change_item(
    db: sqlite3.Connection, item_id: str, *, changes: dict[str, Any], reference: str
) -> Reply:
    """Overwrite fields of an item, and store the change under its reference.

    The reference is not unique: the same request sent twice is two changes.

    Raises:  RefusedError: `not_found`.
    """
    item = find_item(db, item_id) | changes
    item["version"] += 1
    db.execute(
        "UPDATE items SET name = ?, folded = ?, quantity = ?, version = ? WHERE id = ?",
        (item["name"], item["name"].casefold(), item["quantity"], item["version"], item_id),
    )
    db.execute(
        "INSERT INTO changes (reference, item_id, request, item) VALUES (?, ?, ?, ?)",
        (reference, item_id, json.dumps(changes), json.dumps(item)),
    )
    return reply(200, item)


def delete_item(db: sqlite3.Connection, item_id: str) -> Reply:
    """Delete an item; the answer is what it was.

    Raises:  RefusedError: `not_found`.
    """
    item = find_item(db, item_id)
    db.execute("UPDATE items SET is_deleted = 1 WHERE id = ?", (item_id,))
    return reply(200, item)


def send_notice(db: sqlite3.Connection, *, item_id: str, message: str) -> Reply:
    """Accept a notice about an item; nothing ties it to the request that asked for it.

    Raises:  RefusedError: `not_found`.
    """
    find_item(db, item_id)
    db.execute("INSERT INTO notices (item_id, message) VALUES (?, ?)", (item_id, message))
    return reply(202, {"accepted": True})


def create_label(db: sqlite3.Connection, *, item_id: str, text: str, reference: str) -> Reply:
    """Create a label; no two have the same reference.

    Raises:  RefusedError: `duplicate`, also when the item is gone by now; `not_found`.
    """
    if db.execute("SELECT 1 FROM labels WHERE reference = ?", (reference,)).fetchone():
        raise RefusedError("duplicate", "a label with this reference exists")
    find_item(db, item_id)
    label = {
        "id": secrets.token_hex(8),
        "item_id": item_id,
        "text": text,
        "reference": reference,
    }
    db.execute("INSERT INTO labels VALUES (:id, :item_id, :text, :reference)", label)
    return reply(201, label)
