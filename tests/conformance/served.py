"""The fixture tools that the official suite calls by name, served by the real machinery.

Their names break the verb rule, so they are put into a catalogue unchecked; everything below it
is what a deployment runs. The suite sends no credential: the outermost layer adds one.
Run: `uvicorn tests.conformance.served:app`.
"""

import time
from secrets import token_hex
from typing import Any

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from lib.contract import Call, Query, RefusedError, Tool
from lib.machinery.builtins import builtin_queries
from lib.machinery.catalogue import Catalogue
from lib.machinery.deployment import Ambient, Deployment
from lib.machinery.endpoint import Entrance, McpEndpoint
from lib.machinery.runner.deadline import Clock
from lib.settings import Settings, checked
from tests.harness.stack import READ_KEY, agent_keys


class Nothing(BaseModel):
    """No arguments."""


class Text(BaseModel):
    """A text."""

    text: str


async def simple_text(_asked: Nothing, _call: Call) -> Text:
    """Answer the text that the suite looks for."""
    return Text(text="This is a simple text response for testing.")


async def error_handling(_asked: Nothing, _call: Call) -> Text:
    """Fail as a backend does."""
    raise RefusedError("refused", "This tool intentionally returns an error for testing.")


def fixture(name: str, perform: Any) -> Query[Any, Any]:
    """Declare one fixture tool."""
    return Query(
        name=name,
        toolset="fixtures",
        description=f"A fixture of the conformance suite: {name}.",
        arguments=Nothing,
        result=Text,
        perform=perform,
    )


def tools() -> tuple[Tool, ...]:
    """List the fixtures that this template can offer at all."""
    return (
        fixture("test_simple_text", simple_text),
        fixture("test_error_handling", error_handling),
        *builtin_queries(),
    )


class Credential:
    """Adds the reader's key to each request."""

    def __init__(self, inner: McpEndpoint) -> None:
        """Wrap an endpoint."""
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with a credential."""
        key = (b"authorization", f"Bearer {READ_KEY}".encode())
        await self.inner({**scope, "headers": [*scope["headers"], key]}, receive, send)


def deployment() -> Deployment:
    """Build a deployment that holds the fixtures."""
    settings = checked(
        Settings(
            backend_url="http://127.0.0.1:9",
            backend_read_token="r",
            backend_write_token="w",
            kv_rest_api_url="http://127.0.0.1:9",
            kv_rest_api_token="t",
            agent_keys=agent_keys(),
        )
    )
    assert isinstance(settings, Settings), settings
    ambient = Ambient(
        clock=Clock(steady=time.monotonic, wall=time.time),  # noqa: TID251  as api/ does
        new_id=lambda: token_hex(16),
        platform_end=lambda: None,
    )
    return Deployment(settings=settings, catalogue=Catalogue(tools()), ambient=ambient)


app = Starlette(
    routes=[Route("/mcp", Credential(McpEndpoint(Entrance(deployment=deployment()), "/mcp")))]
)
