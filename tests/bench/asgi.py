"""An ASGI application called without a socket, so that its own CPU is all there is to measure."""

import asyncio
import json
from typing import Any

from starlette.types import ASGIApp, Message, Scope

from tests.harness.stack import WRITE_KEY
from tests.harness.wire import META, MODERN


def body_of(method: str, **params: Any) -> bytes:
    """Write one request of the 2026 era."""
    params["_meta"] = {
        f"{META}/protocolVersion": MODERN,
        f"{META}/clientCapabilities": {},
        f"{META}/clientInfo": {"name": "bench", "version": "1"},
    }
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def headers_of(method: str, body: bytes, name: str | None = None) -> dict[str, str]:
    """Name the headers that go with it."""
    named = {} if name is None else {"mcp-name": name}
    return {
        "host": "127.0.0.1",
        "content-type": "application/json",
        "content-length": str(len(body)),
        "accept": "application/json, text/event-stream",
        "authorization": f"Bearer {WRITE_KEY}",
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
        **named,
    }


async def post(app: ASGIApp, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """Send one request; give the status and the body of its answer."""
    answer, status = bytearray(), 0
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    was_read = False

    async def receive() -> Message:
        nonlocal was_read
        if was_read:
            await asyncio.Event().wait()  # the client stays, and says no more
        was_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)
        answer.extend(message.get("body", b""))

    await app(scope, receive, send)
    return status, bytes(answer)


async def call(app: ASGIApp, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that succeeds."""
    body = body_of("tools/call", name=tool, arguments=arguments)
    return checked(await post(app, body, headers_of("tools/call", body, tool)))


async def listing(app: ASGIApp) -> dict[str, Any]:
    """List the tools."""
    body = body_of("tools/list")
    return checked(await post(app, body, headers_of("tools/list", body)))


def checked(answer: tuple[int, bytes]) -> dict[str, Any]:
    """Give the result of an answer that is one."""
    status, body = answer
    result = json.loads(body).get("result") if status == 200 else None
    if result is None or result.get("isError"):
        raise RuntimeError(f"no result: {status} {body[:500]!r}")
    return result
