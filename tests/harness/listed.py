"""The names of the tools as they are committed, so that a tool of yours needs no line here."""

import json

from lib.backend import connect
from lib.contract import Command, Query
from lib.tools import catalogue
from tests.lock import LOCK

LISTED = json.loads(LOCK.read_text())
QUERIES = [tool["name"] for tool in LISTED if tool["annotations"]["readOnlyHint"]]
COMMANDS = [tool["name"] for tool in LISTED if not tool["annotations"]["readOnlyHint"]]


def counts(toolset: str) -> tuple[int, int]:
    """Count the queries and the commands of a toolset, as they are declared."""
    tools = [tool for tool in catalogue(connect()) if tool.toolset == toolset]
    return (
        sum(isinstance(tool, Query) for tool in tools),
        sum(isinstance(tool, Command) for tool in tools),
    )
