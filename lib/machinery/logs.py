"""What this process writes: one JSON object per line, wherever it runs; never an argument's value.

A host's own handler is used where there is one, and its formatters may be out of reach, so the
fields of an event become part of its message. Called once, by the outermost module.
Source: DESIGN §7.
"""

import json
import logging
from dataclasses import asdict
from typing import Any

EVENTS = ("settle.calls", "settle.gate", "settle.runner", "settle.sweeper")
# At INFO they write URLs, and a query's arguments stand in those; some hosts set INFO for all.
TALKATIVE = (
    "httpx",
    "httpcore",
    "mcp.server.streamable_http",
    "mcp.server.streamable_http_manager",
)
STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def open_logs() -> None:
    """Let decisions and events be heard, and nobody else's chatter."""
    settle = logging.getLogger("settle")
    settle.setLevel(logging.INFO)
    if not settle.hasHandlers():
        settle.addHandler(logging.StreamHandler())
    for name in EVENTS:
        logging.getLogger(name).addFilter(with_fields)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


def with_fields(record: logging.LogRecord) -> bool:
    """Write the fields of an event into its message, and let it pass."""
    fields = {name: value for name, value in vars(record).items() if name not in STANDARD}
    event = {"event": record.getMessage(), "level": record.levelname.lower(), **fields}
    record.msg, record.args = json.dumps(event, default=_plain), None
    return True


def _plain(value: Any) -> Any:  # noqa: ANN401  a field of an event: a dataclass of counts
    return asdict(value)
