"""The names of the tools as they are committed, so that a tool of yours needs no line here."""

import json

from tests.lock import LOCK

LISTED = json.loads(LOCK.read_text())
QUERIES = [tool["name"] for tool in LISTED if tool["annotations"]["readOnlyHint"]]
COMMANDS = [tool["name"] for tool in LISTED if not tool["annotations"]["readOnlyHint"]]
