"""The server under test for kills: every backend class, a stop before its answer, a control.

It is the application of `api/index.py` with one more tool, and around it the one seam that no
store and no backend can see: the outcome is written down, and not yet told. `/unguarded` is what a
plain handler does: it sends, and answers.
"""

import os
import time
from datetime import timedelta
from secrets import token_hex
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lib.machinery.app import create_app
from lib.machinery.deployment import Ambient
from lib.machinery.runner.deadline import Clock
from lib.settings import Settings, read_settings
from tests.harness.unique import every_class
from tests.harness.wire import PLAIN

HOLD = b"x-test-hold"  # a URL to ask, and to wait for, before an outcome is told
SETTLES_S = float(os.environ.get("TEST_SETTLES_S", "5"))  # noqa: TID251  of `update_item`

found = read_settings()
assert isinstance(found, Settings), found
settings = found


async def unguarded(request: Request) -> JSONResponse:
    """Send what is asked for, under a key of its own as plain handlers make them."""
    asked = await request.json()
    async with httpx.AsyncClient(timeout=10, verify=PLAIN) as http:
        answer = await http.post(
            f"{settings.backend_url}{asked['path']}",
            json=asked["body"],
            headers={
                "Authorization": f"Bearer {settings.backend_write_token}",
                "Idempotency-Key": token_hex(16),
            },
        )
    return JSONResponse(answer.json(), status_code=answer.status_code)


def holding(inner: ASGIApp) -> ASGIApp:
    """Ask the URL that a request names before its outcome is told."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        url = dict(scope.get("headers", ())).get(HOLD)
        kept: list[Message] = []

        async def held(message: Message) -> None:
            kept.append(message)
            if message["type"] == "http.response.start":
                return
            if url is not None and b'"outcome"' in message.get("body", b""):
                async with httpx.AsyncClient(timeout=30, verify=PLAIN) as http:
                    await http.get(url.decode())
            while kept:
                await send(kept.pop(0))

        await inner(scope, receive, held)

    return wrapped


def build() -> Any:
    """Build the application from the environment."""
    ambient = Ambient(
        clock=Clock(steady=time.monotonic, wall=time.time),  # noqa: TID251  as api/ does
        new_id=lambda: token_hex(16),
        platform_end=lambda: None,
    )
    built = create_app(
        settings, every_class(settings, settle_time=timedelta(seconds=SETTLES_S)), ambient
    )
    built.router.routes.append(Route("/unguarded", unguarded, methods=["POST"]))
    return holding(built)


app = build()
