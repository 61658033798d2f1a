"""What the dev server's terminal shows of a running server: decisions, warnings, lost requests.

A decision is a full JSON line where a program reads along, and one short line for a person.
"""

import json
import logging
from typing import Any

_FAULTY = 400
_EXPECTED = frozenset({401, 405})  # a decision line tells of the one; with the other clients probe


class Briefly(logging.Formatter):
    """Shortens a decision to one line: when, what, by whom, how it ended, how long it took."""

    def format(self, record: logging.LogRecord) -> str:
        """Render one decision."""
        event: dict[str, Any] = json.loads(record.getMessage())
        what = event["tool"] or ("tools/list" if event["kind"] == "list" else "(no tool)")
        ended = [event["decision"], event["reason"], event["outcome"], event["this_call"]]
        told = " ".join(str(part) for part in ended if part)
        who = event["actor"] or "(nobody)"
        return f"{event['ts'][11:19]}  {what}  {who}  {told}  {event['latency_ms']:.0f} ms"


class Unexpected(logging.Filter):
    """Passes only the answers that nothing else tells of, such as a wrong path."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether to show this request."""
        *_, status = record.args if isinstance(record.args, tuple) else (0,)
        return isinstance(status, int) and status >= _FAULTY and status not in _EXPECTED


def log_config(*, is_brief: bool) -> dict[str, Any]:
    """Configure logging for a server process, in the form of `logging.config.dictConfig`."""
    audit = {"()": "lib.dev.logs.Briefly"} if is_brief else {"format": "%(message)s"}
    to_stderr = {"class": "logging.StreamHandler", "stream": "ext://sys.stderr"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "audit": audit,
            "plain": {"format": "%(levelname)s  %(name)s: %(message)s"},
            "access": {
                "()": "uvicorn.logging.AccessFormatter",
                "fmt": '%(status_code)s  "%(request_line)s"',
                "use_colors": False,
            },
        },
        "filters": {"unexpected": {"()": "lib.dev.logs.Unexpected"}},
        "handlers": {
            "audit": {**to_stderr, "formatter": "audit"},
            "plain": {**to_stderr, "formatter": "plain"},
            "access": {**to_stderr, "formatter": "access", "filters": ["unexpected"]},
        },
        "root": {"level": "WARNING", "handlers": ["plain"]},
        "loggers": {
            # Without a level of its own, INFO would be dropped, and every decision with it.
            "settle": {"level": "INFO"},
            "settle.audit": {"level": "INFO", "handlers": ["audit"], "propagate": False},
            "uvicorn": {"level": "WARNING"},
            "uvicorn.access": {"level": "INFO", "handlers": ["access"], "propagate": False},
        },
    }
