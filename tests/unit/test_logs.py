"""Every logger of ours is known to the one place that makes its events readable."""

import json
import logging
import re
from pathlib import Path

from lib.machinery.logs import EVENTS, with_fields

LIB = Path(__file__).parents[2] / "lib"


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
