"""The systems around the server, in one process: the store, its front, and the items service.

A server process may come and go beside them; they and their data stay.
"""

import shutil
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lib.dev.engine import start_engine
from lib.dev.environment import Systems
from lib.dev.front import create_front
from lib.dev.items import create_items
from lib.dev.items_work import Written
from lib.dev.kept_secrets import Secrets
from lib.dev.serving import serve

STORE, ITEMS, SECRETS, SHELL_LINES = "store", "items.db", "secrets.json", "env"
_OURS = (ITEMS, f"{ITEMS}-wal", f"{ITEMS}-shm", SECRETS, SHELL_LINES)


@contextmanager
def sample_systems(
    data: Path,
    secrets: Secrets,
    *,
    has_store: bool = True,
    has_items: bool = True,
    on_written: Callable[[Written], None] | None = None,
) -> Generator[Systems]:
    """Run the systems while the block runs.

    Args:    data: a directory, where the engine's file and the items are kept.
             on_written: as for `create_items`.
    Raises:  EngineStartError.
    """
    with ExitStack() as running:
        store_url = items_url = None
        if has_store:
            engine = running.enter_context(start_engine(data / STORE))
            front = create_front(
                engine.socket_path,
                token=secrets.store_token,
                read_only_token=secrets.store_read_only_token,
            )
            store_url = running.enter_context(serve(front)).url
        if has_items:
            items = create_items(
                data / ITEMS,
                read_token=secrets.backend_read_token,
                write_token=secrets.backend_write_token,
                on_written=on_written,
            )
            items_url = running.enter_context(serve(items)).url
        yield Systems(store_url=store_url, items_url=items_url)


def remove_data(data: Path) -> None:
    """Remove what was kept under `data`, and nothing else; call it under the data's lock."""
    shutil.rmtree(data / STORE / "appendonlydir", ignore_errors=True)
    for name in _OURS:
        (data / name).unlink(missing_ok=True)
