"""The product that the gate decides over, and what must come out: written down a second time.

Nothing here asks the machinery for its opinion; the rules are DESIGN §3, §4 and §7 in words.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pydantic import BaseModel

from lib.backend import connect
from lib.contract import Call, Command, Query, Scope, Tool, Unaskable
from lib.tools import catalogue
from tests.harness.stack import Stack

READ, WRITE, EXTRA = "call:tools", "call:write_tools", "items:audit"
ENDPOINTS = ("/mcp", "/mcp/readonly")
QUERIES = {
    "get_item": (READ,),
    "get_ledger": (READ, EXTRA),
    "get_operation": (READ,),
    "list_items": (READ,),
    "list_toolsets": (READ,),
    "search_items": (READ,),
}
COMMANDS = {
    "create_item": (WRITE,),
    "delete_item": (WRITE,),
    "post_ledger": (WRITE, EXTRA),
    "send_notice": (WRITE,),
    "update_item": (WRITE,),
}
NEEDS = QUERIES | COMMANDS
UNKNOWN = ("get_items", "Get_item", "get_item ", "settle", "créer_item", "../get_item")
TOOLSETS: dict[str, tuple[str, ...]] = {
    "ledger": ("get_ledger", "post_ledger"),
    "settle": ("get_operation", "list_toolsets"),
}
TOOLSETS["items"] = tuple(
    name for name in NEEDS if not any(name in names for names in TOOLSETS.values())
)


@dataclass(frozen=True, slots=True)
class Place:
    """A deployment. has_commands: DESIGN §3's rule, by hand."""

    name: str
    vercel_env: str | None
    has_scratch: bool
    has_commands: bool


PLACES = (
    Place("production", "production", has_scratch=False, has_commands=True),
    Place("production with scratch", "production", has_scratch=True, has_commands=True),
    Place("development", "development", has_scratch=False, has_commands=True),
    Place("unset", None, has_scratch=False, has_commands=True),
    Place("preview", "preview", has_scratch=False, has_commands=False),
    Place("preview with scratch", "preview", has_scratch=True, has_commands=True),
    Place("staging", "staging", has_scratch=False, has_commands=False),
    Place("staging with scratch", "staging", has_scratch=True, has_commands=True),
)


def expected(place: Place, scopes: frozenset[str], endpoint: str, name: str) -> str | None:
    """Tell why a call is refused; None where it is let through."""
    if name not in NEEDS:
        return "unknown_tool"
    if name in COMMANDS and not place.has_commands:
        return "preview"
    if name in COMMANDS and endpoint.endswith("readonly"):
        return "readonly"
    return None if all(scope in scopes for scope in NEEDS[name]) else "scope"


def reached(place: Place, scopes: frozenset[str], endpoint: str) -> list[str]:
    """Name the tools a grant reaches, in listing order."""
    names = [*sorted(QUERIES), *sorted(COMMANDS)]
    return [name for name in names if expected(place, scopes, endpoint, name) is None]


def every_grant() -> Iterator[frozenset[str]]:
    """Give every subset of the scopes that matter; nothing and all also beside an unknown one."""
    for size in range(4):
        for scopes in combinations((READ, WRITE, EXTRA), size):
            yield frozenset(scopes)
    yield frozenset({"admin"})
    yield frozenset({READ, WRITE, EXTRA, "admin"})


def key_of(scopes: frozenset[str]) -> str:
    """Name the agent key that has exactly these scopes."""
    return "key-with-exactly-" + "+".join(sorted(scopes))


def agent_keys() -> str:
    """Write AGENT_KEYS with one key per grant."""
    return json.dumps(
        [
            {
                "id": "grant:" + "+".join(sorted(scopes)),
                "sha256": hashlib.sha256(key_of(scopes).encode()).hexdigest(),
                "scopes": sorted(scopes),
            }
            for scopes in every_grant()
        ]
    )


def env_of(place: Place, stack: Stack) -> dict[str, str]:
    """Name the environment of a deployment on a stack."""
    env = stack.env(AGENT_KEYS=agent_keys())
    del env["VERCEL_ENV"]
    if place.vercel_env is not None:
        env["VERCEL_ENV"] = place.vercel_env
    if place.vercel_env in {"preview", "staging"}:
        del env["BACKEND_WRITE_TOKEN"], env["KV_REST_API_TOKEN"]
    if place.has_scratch:
        env |= {
            "SCRATCH_BACKEND_URL": "http://127.0.0.1:9/scratch",
            "SCRATCH_BACKEND_WRITE_TOKEN": "scratch-backend-token",
            "SCRATCH_REDIS_REST_URL": "http://127.0.0.1:9/scratch-store",
            "SCRATCH_REDIS_REST_TOKEN": "scratch-store-token",
        }
    return env


class Entry(BaseModel):
    """The arguments of the ledger's tools."""

    line: int


async def _perform(_entry: Entry, _call: Call) -> Entry:
    raise AssertionError("the product is walked with arguments that end before this")


def product_tools() -> list[Tool]:
    """Declare the example's tools without a backend, and the ledger's; no tool of yours."""
    example = [tool for tool in catalogue(connect()) if tool.name in NEEDS]
    return [*example, *ledger_tools()]


def ledger_tools() -> list[Tool]:
    """Declare one query and one command that ask for a scope of their own."""
    common: dict[str, Any] = {
        "toolset": "ledger",
        "description": "A tool that asks for one scope more.",
        "arguments": Entry,
        "result": Entry,
        "perform": _perform,
        "scope": Scope(EXTRA),
    }
    return [
        Query(name="get_ledger", **common),
        Command(
            name="post_ledger",
            backend=Unaskable(),
            destructive=False,
            target="the ledger",
            **common,
        ),
    ]
