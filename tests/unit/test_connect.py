"""The lines that connect a client: each parses as what its client reads."""

import json
import shlex
from typing import Any

import pytest

from lib.machinery.pages.connect import NAME, snippet

URL = "https://a.vercel.app/mcp"
KEY = "a-key-of-somebody"


@pytest.mark.parametrize("url", [URL, "http://[::1]:3000/mcp", "https://a.example/mcp?a=1&b"])
@pytest.mark.parametrize("key", ["YOUR_KEY", "a$(b)`c`'\"!\\"])
def test_claude_codes_line_is_one_shell_command_with_the_header_last(url: str, key: str) -> None:
    assert shlex.split(snippet("Claude Code", url, key=key)) == [
        *("claude", "mcp", "add", "--transport", "http", NAME, url),
        *("--header", f"Authorization: Bearer {key}"),
    ]


def test_an_editors_file_has_the_documented_keys_and_holds_no_key() -> None:
    cursor: dict[str, Any] = json.loads(snippet("Cursor", URL, key=KEY))
    bearer = {"Authorization": "Bearer ${env:SETTLE_KEY}"}
    assert cursor == {"mcpServers": {NAME: {"url": URL, "headers": bearer}}}
    code: dict[str, Any] = json.loads(snippet("VS Code", URL, key=KEY))
    (asked,) = code["inputs"]
    bearer = {"Authorization": f"Bearer ${{input:{asked['id']}}}"}
    assert code["servers"] == {NAME: {"type": "http", "url": URL, "headers": bearer}}
    assert (asked["type"], asked["password"]) == ("promptString", True)
