"""What each client needs to reach this server: one place for the page and the dev server.

Source: code.claude.com/docs/en/mcp; cursor.com/docs/mcp (`${env:…}`);
code.visualstudio.com/docs/copilot/reference/mcp-configuration (`inputs`).
"""

import json
import shlex
from typing import Any, Literal, assert_never

NAME = "settle"
KEY_PLACEHOLDER = "YOUR_KEY"
URL_PLACEHOLDER = "https://YOUR-HOST/mcp"

type Client = Literal["Claude Code", "Cursor", "VS Code"]
# Where each snippet belongs.
CLIENTS: dict[Client, str] = {
    "Claude Code": "in a terminal",
    "Cursor": "in .cursor/mcp.json; it reads the key from SETTLE_KEY in its environment",
    "VS Code": "in .vscode/mcp.json; it asks for the key once, and keeps it",
}


def snippet(client: Client, url: str, *, key: str = KEY_PLACEHOLDER) -> str:
    """Write the command, or the file, that connects a client.

    Args: url: one of this server's two MCP endpoints.
          key: for Claude Code's command only; an editor's file may be committed, so it holds none.
    """
    match client:
        case "Claude Code":
            # --header takes every word after it, so it stands last.
            words = ["claude", "mcp", "add", "--transport", "http", NAME, url]
            words += ["--header", f"Authorization: Bearer {key}"]
            return " ".join(_quoted(word) for word in words)
        case "Cursor":
            return _json({"mcpServers": {NAME: _server(url, "${env:SETTLE_KEY}")}})
        case "VS Code":
            asked = {"type": "promptString", "id": "settle-key", "description": "Settle key"}
            server = {"type": "http", **_server(url, "${input:settle-key}")}
            return _json({"inputs": [{**asked, "password": True}], "servers": {NAME: server}})
        case _:
            assert_never(client)


def _server(url: str, key: str) -> dict[str, Any]:
    return {"url": url, "headers": {"Authorization": f"Bearer {key}"}}


def _quoted(word: str) -> str:
    # Double quotes where they are safe: cmd.exe knows no single ones.
    quoted = shlex.quote(word)
    return quoted if quoted == word or set(word) & set('"$`\\!') else f'"{word}"'


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2)
