"""MCP as it stands on the wire, for both eras; the SDK's client is used where that is enough."""

import ssl
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.harness.stack import WRITE_KEY

MODERN = "2026-07-28"
LEGACY = "2025-06-18"
META = "io.modelcontextprotocol"
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reading the authorities costs a client 40 ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Mcp:
    """One client's way of calling. capabilities: what it says it can put to its user."""

    http: httpx.AsyncClient
    key: str | None = WRITE_KEY
    path: str = "/mcp"
    era: str = MODERN
    capabilities: dict[str, Any] = field(default_factory=lambda: {"elicitation": {}})

    async def send(self, method: str, **params: Any) -> httpx.Response:
        """Send one request."""
        return await self.http.send(self.request(method, **params))

    def request(self, method: str, **params: Any) -> httpx.Request:
        """Build one request, or a notification."""
        headers = {"Accept": "application/json, text/event-stream"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        if self.era == MODERN:
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
            if method == "tools/call":
                headers["Mcp-Name"] = params["name"]
            params["_meta"] = {
                f"{META}/protocolVersion": MODERN,
                f"{META}/clientCapabilities": self.capabilities,
                f"{META}/clientInfo": {"name": "tests", "version": "1"},
            }
        else:
            headers["MCP-Protocol-Version"] = self.era
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("notifications/"):
            body["id"] = 1
        return self.http.build_request("POST", self.path, headers=headers, json=body)

    async def result(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one request that succeeds as a request, and give its result."""
        answer = await self.send(method, **params)
        body = answer.json()
        assert "result" in body, f"{answer.status_code}: {body}"
        return body["result"]

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and give the whole result."""
        return await self.result("tools/call", name=tool, arguments=arguments)

    async def settle(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a command and give its envelope."""
        return (await self.call(tool, **arguments))["structuredContent"]

    async def agree(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a command as `settle` does; where a person is asked, that person agrees."""
        answer = await self.call(tool, **arguments)
        if answer.get("resultType") == "input_required":
            yes = {"approval": {"action": "accept", "content": {"approve": True}}}
            answer = await self.result(
                "tools/call",
                name=tool,
                arguments=arguments,
                inputResponses=yes,
                requestState=answer["requestState"],
            )
        return answer["structuredContent"]
