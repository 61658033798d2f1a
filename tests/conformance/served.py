"""The fixture tools, served by the real machinery.

Their names break the verb rule, so they are put into a catalogue unchecked; everything below it
is what a deployment runs. The suite knows neither credentials nor idempotency keys: the outermost
layer adds them. Run: `uvicorn tests.conformance.served:app` in a stack's environment.
"""

import json
import time
from secrets import token_hex
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from lib.contract import Command
from lib.machinery.catalogue import KEY, Catalogue
from lib.machinery.deployment import Ambient, deploy
from lib.machinery.endpoint import McpEndpoint
from lib.machinery.runner.deadline import Clock
from lib.settings import read_settings
from tests.conformance.fixtures import tools
from tests.harness.stack import WRITE_KEY

CATALOGUE = Catalogue(tools())


class Supplied:
    """Adds a writer's credential to each request, and a key to each command."""

    def __init__(self, inner: McpEndpoint) -> None:
        """Wrap an endpoint."""
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with what it lacks."""
        body = with_key(await Request(scope, receive).body())
        kept = [each for each in scope["headers"] if each[0] != b"content-length"]
        added = [
            (b"authorization", f"Bearer {WRITE_KEY}".encode()),
            (b"content-length", str(len(body)).encode()),
        ]
        whole: list[Message] = [{"type": "http.request", "body": body}]

        async def once() -> Message:
            return whole.pop() if whole else await receive()

        await self.inner({**scope, "headers": kept + added}, once, send)


def with_key(body: bytes) -> bytes:
    """Give a call of a command its key: one per tool, so that both rounds name one operation."""
    try:
        asked: dict[str, Any] = json.loads(body)
        name, arguments = asked["params"]["name"], asked["params"]["arguments"]
    except (ValueError, KeyError, TypeError):
        return body
    if not isinstance(CATALOGUE.find(name), Command):
        return body
    arguments[KEY] = name
    return json.dumps(asked).encode()


def ambient() -> Ambient:
    """Fetch what `api/index.py` fetches."""
    return Ambient(
        clock=Clock(steady=time.monotonic, wall=time.time),  # noqa: TID251  as api/ does
        new_id=lambda: token_hex(16),
        platform_end=lambda: None,
    )


deployment = deploy(read_settings(), CATALOGUE, ambient())
app = Starlette(
    routes=[
        Route("/mcp", Supplied(McpEndpoint(deployment, "/mcp"))),
        Route("/healthz", McpEndpoint(deployment, "/mcp")),
    ]
)
