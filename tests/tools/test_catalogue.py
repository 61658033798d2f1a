"""The catalogue: which tools there are, in which order, and what each one claims."""

import subprocess
import sys
from datetime import timedelta

import pytest

from lib.contract import Command, Keyed, Lookup, Query, Tool, Unaskable

DAY_KEY = Keyed(window=timedelta(hours=24), sticky=False)


def test_queries_come_first_and_then_commands_each_by_name(tools: dict[str, Tool]) -> None:
    queries = [name for name, tool in tools.items() if isinstance(tool, Query)]
    commands = [name for name, tool in tools.items() if isinstance(tool, Command)]
    assert list(tools) == sorted(queries) + sorted(commands)


@pytest.mark.parametrize(
    ("name", "backend", "claims"),
    [
        ("create_item", DAY_KEY, set[str]()),
        ("update_item", Lookup(settle_time=timedelta(seconds=5)), {"destructive"}),
        ("delete_item", DAY_KEY, {"destructive", "approval"}),
        ("send_notice", Unaskable(), {"open_world"}),
    ],
)
def test_a_command_claims_what_its_backend_keeps(
    tools: dict[str, Tool], name: str, backend: object, claims: set[str]
) -> None:
    command = tools[name]
    assert isinstance(command, Command)
    assert command.backend == backend
    assert {
        claim for claim in ("destructive", "approval", "open_world") if getattr(command, claim)
    } == claims
    assert (command.ask is not None) == isinstance(backend, Lookup)


def test_building_the_catalogue_does_not_load_the_http_client() -> None:
    program = (
        "import sys; from lib.backend import connect; from lib.tools import catalogue;"
        " catalogue(connect());"
        " sys.exit('httpx' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], timeout=30, check=False)  # noqa: S603  our own program
    assert ended.returncode == 0
