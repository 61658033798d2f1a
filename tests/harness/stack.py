"""One running store and one running items service, with their faults and counters."""

import hashlib
import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lib.dev.engine import Engine
from lib.dev.faulty import Faults
from lib.dev.front import Front, create_front
from lib.dev.items import Items, create_items
from lib.dev.items_work import Written
from lib.dev.serving import serve

STORE_TOKEN = "store-read-write-token"
STORE_READ_TOKEN = "store-read-only-token"
READ_TOKEN = "backend-read-token"
WRITE_TOKEN = "backend-write-token"
READ_KEY = "key-of-the-reader-0123456789abcdef"
WRITE_KEY = "key-of-the-writer-0123456789abcdef"
OTHER_KEY = "key-of-another-writer-0123456789ab"
STATE_KEY = "state-key-0123456789-0123456789-0123456789"
CRON_SECRET = "cron-secret-0123456789"
# For tests that are not about time: a busy machine ends no call of theirs, and changes no answer.
PATIENT = {
    "MAX_DURATION_S": "20",
    "BACKEND_TIMEOUT_S": "8",
    "COMMIT_BUDGET_S": "1",
    "KILL_SLACK_S": "1",
    "STORE_TIMEOUT_S": "5",
}
# For tests that wait for a lease to end, or for a time-out; to send takes 2 of the 4 seconds.
SHORT = {
    "MAX_DURATION_S": "4",
    "BACKEND_TIMEOUT_S": "2",
    "COMMIT_BUDGET_S": "1",
    "KILL_SLACK_S": "1",
    "STORE_TIMEOUT_S": "1.5",
}
SCOPES = {READ_KEY: ["call:tools"]}
BOTH = ["call:tools", "call:write_tools"]


def agent_keys() -> str:
    """Write AGENT_KEYS for the three keys above."""
    ids = {READ_KEY: "reader", WRITE_KEY: "writer", OTHER_KEY: "another"}
    return json.dumps(
        [
            {
                "id": name,
                "sha256": hashlib.sha256(key.encode()).hexdigest(),
                "scopes": SCOPES.get(key, BOTH),
            }
            for key, name in ids.items()
        ]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Where the parts listen, and their insides. written: each effect at the items service."""

    front: Front
    items: Items
    store_faults: Faults
    store_url: str
    items_url: str
    written: list[Written] = field(default_factory=list[Written])

    def env(self, **more: str) -> dict[str, str]:
        """Name the environment of a production deployment on these parts, with ample times."""
        return {
            "VERCEL_ENV": "production",
            "BACKEND_URL": self.items_url,
            "BACKEND_READ_TOKEN": READ_TOKEN,
            "BACKEND_WRITE_TOKEN": WRITE_TOKEN,
            "KV_REST_API_URL": self.store_url,
            "KV_REST_API_TOKEN": STORE_TOKEN,
            "KV_REST_API_READ_ONLY_TOKEN": STORE_READ_TOKEN,
            "AGENT_KEYS": agent_keys(),
            "STATE_KEY": STATE_KEY,
            "CRON_SECRET": CRON_SECRET,
            **PATIENT,
            **more,
        }


@contextmanager
def running_stack(engine: Engine, folder: Path) -> Generator[Stack]:
    """Run a front and an items service of their own on an engine that others share."""
    store_faults, items_faults = Faults(), Faults()
    written: list[Written] = []
    front = create_front(
        engine.socket_path,
        token=STORE_TOKEN,
        read_only_token=STORE_READ_TOKEN,
        faults=store_faults,
        count=True,
    )
    items = create_items(
        folder / "items.db",
        read_token=READ_TOKEN,
        write_token=WRITE_TOKEN,
        faults=items_faults,
        on_written=written.append,
    )
    with serve(front) as store, serve(items) as service:
        yield Stack(
            front=front,
            items=items,
            store_faults=store_faults,
            store_url=store.url,
            items_url=service.url,
            written=written,
        )
