"""Write the wire form of every tool to `tests/tools.lock.json`, on purpose.

Run `uv run python -m tests.lock` after a change that a model should see.
"""

import json
from pathlib import Path
from typing import Any

from lib.backend import connect
from lib.machinery.builtins import builtin_queries
from lib.machinery.catalogue import catalogue_of
from lib.machinery.describe import described
from lib.tools import catalogue

LOCK = Path(__file__).with_name("tools.lock.json")


def listing() -> list[dict[str, Any]]:
    """Describe every tool as `tools/list` shows it to a grant that reaches all."""
    offered = catalogue_of(catalogue(connect()), builtin_queries())
    return [described(tool) for tool in offered.tools]


def text() -> str:
    """Write the listing as it is committed."""
    return json.dumps(listing(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    LOCK.write_text(text())
