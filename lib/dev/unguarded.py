"""The control of the demo and of the crash tests: an MCP tool as it is commonly written.

It posts to the items service, which wants a key with every creation, and makes up a new one for
each request: that satisfies the service, and protects nobody. Served as
`lib.dev.unguarded:create_app()`; it reads BACKEND_URL and BACKEND_WRITE_TOKEN.
"""

from secrets import token_hex
from typing import Any

import httpx
from mcp.server.mcpserver import MCPServer
from starlette.types import ASGIApp

from lib.settings import Settings


def create_app() -> ASGIApp:
    """Build the server."""
    backend = Settings().write_backend
    if backend is None:
        raise RuntimeError("BACKEND_URL and BACKEND_WRITE_TOKEN are missing")
    server = MCPServer("unguarded")
    client = httpx.AsyncClient(
        base_url=backend.url, headers={"Authorization": f"Bearer {backend.token}"}
    )

    @server.tool()
    async def create_item(name: str, quantity: int) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        """Create an item."""
        answer = await client.post(
            "/items",
            json={"name": name, "quantity": quantity},
            headers={"Idempotency-Key": token_hex(16)},
        )
        return answer.raise_for_status().json()

    return server.streamable_http_app(json_response=True, stateless_http=True)
