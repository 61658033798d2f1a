"""Every logger of ours is known to the one place that makes its events readable."""

import io
import json
import logging
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lib.machinery.logs import EVENTS, TALKATIVE, open_logs, with_fields

LIB = Path(__file__).parents[2] / "lib"
SETTLE = logging.getLogger("settle")


@dataclass(frozen=True, slots=True)
class Counts:
    """A field of an event that holds several."""

    looked: int


@contextmanager
def as_a_process_starts() -> Generator[logging.Logger]:
    """Give the root logger with no handler; leave every logger as it was found."""
    named = [logging.getLogger(name) for name in (None, "settle", *EVENTS, *TALKATIVE)]
    before = [(each, each.level, [*each.filters], [*each.handlers]) for each in named]
    for each in named:
        each.handlers.clear()
    try:
        yield named[0]
    finally:
        for each, level, each.filters[:], each.handlers[:] in before:
            each.setLevel(level)


def test_every_logger_of_the_server_has_its_fields_written() -> None:
    rooms = [
        path for path in LIB.rglob("*.py") if path.relative_to(LIB).parts[0] not in {"dev", "ops"}
    ]
    found = {
        name
        for path in rooms
        for name in re.findall(
            r'getLogger\("(settle\.[a-z.]+)"\)', path.read_text(encoding="utf-8")
        )
    }
    assert found - {"settle.audit"} == set(EVENTS)


def test_an_event_becomes_one_json_object_with_its_fields() -> None:
    record = logging.makeLogRecord(
        {"msg": "in_doubt", "levelname": "WARNING", "operation_id": "ab", "code": "x"}
    )
    assert with_fields(record)
    told = {"event": "in_doubt", "level": "warning", "operation_id": "ab", "code": "x"}
    assert json.loads(record.getMessage()) == told


def test_a_field_that_holds_several_is_an_object_in_it() -> None:
    record = logging.makeLogRecord({"msg": "swept", "levelname": "INFO", "swept": Counts(looked=2)})
    assert with_fields(record)
    told = {"event": "swept", "level": "info", "swept": {"looked": 2}}
    assert json.loads(record.getMessage()) == told


def test_where_nobody_listens_the_log_has_a_handler_of_its_own() -> None:
    with as_a_process_starts():
        open_logs()
        assert [type(each) for each in SETTLE.handlers] == [logging.StreamHandler]


def test_a_hosts_own_handler_hears_decisions_and_events_and_no_chatter() -> None:
    heard = io.StringIO()
    with as_a_process_starts() as root:
        root.addHandler(logging.StreamHandler(heard))
        root.setLevel(logging.INFO)
        open_logs()
        logging.getLogger("settle.audit").info("{}")
        logging.getLogger(EVENTS[0]).info("called", extra={"tool": "get_item"})
        for name in TALKATIVE:
            logging.getLogger(name).info("https://host.example/?argument")
        assert SETTLE.handlers == []
    event = {"event": "called", "level": "info", "tool": "get_item"}
    assert [json.loads(line) for line in heard.getvalue().splitlines()] == [{}, event]
