"""What the gate wrote down while a test ran."""

import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

type Line = dict[str, Any]


class _Kept(logging.Handler):
    def __init__(self, lines: list[Line]) -> None:
        super().__init__()
        self.lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append({**json.loads(record.getMessage()), "_level": record.levelname})


@contextmanager
def audit_lines() -> Generator[list[Line]]:
    """Keep the audit lines of this process, with the level each was written at."""
    log, lines = logging.getLogger("settle.audit"), list[Line]()
    kept, before = _Kept(lines), log.level
    log.addHandler(kept)
    log.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        log.removeHandler(kept)
        log.setLevel(before)
