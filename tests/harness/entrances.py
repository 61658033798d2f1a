"""Ways to reach the application from outside: a server process, or a function behind Lambda."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx

from tests.harness.lambda_host import Function, warm_function
from tests.harness.nursery import standing


class Invoked(httpx.AsyncBaseTransport):
    """Turns each request into the event of an HTTP API, and its result into a response."""

    def __init__(self, function: Function) -> None:
        self.function = function

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        http = {"method": request.method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "::1"}
        event = {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": path,
            "rawQueryString": "",
            "headers": {"x-forwarded-proto": "https", **dict(request.headers)},
            "requestContext": {"stage": "$default", "requestId": "r", "http": http},
            "body": (await request.aread()).decode(),
            "isBase64Encoded": False,
        }
        told = await asyncio.to_thread(self.function.invoke, event)
        return httpx.Response(
            told["statusCode"], headers=told["headers"], content=told["body"].encode()
        )


@asynccontextmanager
async def served(env: dict[str, str]) -> AsyncGenerator[httpx.AsyncClient]:
    """Reach a server process over a socket."""
    with standing().server(env) as process:
        async with httpx.AsyncClient(base_url=process.url, timeout=10) as http:
            yield http


@asynccontextmanager
async def invoked(env: dict[str, str]) -> AsyncGenerator[httpx.AsyncClient]:
    """Reach a warm function through events."""
    with warm_function(env) as function:
        transport = Invoked(function)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            yield http
