"""Clients that run on Node: the TypeScript SDKs, and the Inspector's command line."""

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

from tests.clients.story import Answer, Step
from tests.harness.bundle import NODE_BIN

PACKAGES = NODE_BIN.parent / "@modelcontextprotocol"
INSPECTOR = PACKAGES / "inspector" / "clients" / "launcher" / "build" / "index.js"
SCRIPT = Path(__file__).with_name("typescript.mjs")
RUN_S = 60
ERROR_STATUS = 5


def typescript(sdk: str, url: str, steps: list[Step]) -> list[Answer]:
    """Take every step with one of the two TypeScript SDKs: `client` or `sdk`."""
    ended = run(SCRIPT, sdk, url, given=json.dumps([asdict(step) for step in steps]))
    assert ended.returncode == 0, ended.stderr
    return [Answer(**answer) for answer in json.loads(ended.stdout)]


def inspector(era: str, url: str, steps: list[Step]) -> list[Answer]:
    """Take every step with the Inspector, each in a process of its own."""
    return [inspected(era, url, step) for step in steps]


def inspected(era: str, url: str, step: Step) -> Answer:
    to = ["--cli", url, "--transport", "http", "--protocol-era", era, "--stored-auth-only"]
    to += ["--header", f"Authorization: Bearer {step.key}", "--format", "json"]
    if step.tool is None:
        listed = json.loads(run(INSPECTOR, *to, "--method", "tools/list").stdout)
        return Answer(tools=[tool["name"] for tool in listed["result"]["tools"]])
    asked = ["--tool-name", step.tool, "--tool-args-json", json.dumps(step.arguments)]
    ended = run(INSPECTOR, *to, "--method", "tools/call", *asked)
    if not ended.stdout:
        return Answer(raised=ended.stderr)
    result = json.loads(ended.stdout)["result"]
    # Its status says the same once more, for scripts.
    assert ended.returncode == (ERROR_STATUS if result["isError"] else 0)
    return Answer(
        structured=result.get("structuredContent"),
        text=result["content"][0]["text"],
        is_error=result["isError"],
    )


def run(script: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  the pinned tools of tests/node
        [NODE_BIN / "node", script, *arguments],
        input=given,
        capture_output=True,
        check=False,
        text=True,
        timeout=RUN_S,
    )
