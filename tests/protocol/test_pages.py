"""What a person sees in a browser: the landing page, the checklist, and each client's lines."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import get_args

import httpx
import pytest

from lib.contract import Tool
from lib.machinery.builtins import builtin_queries
from lib.machinery.pages import frame
from lib.machinery.pages.connect import CLIENTS, Client
from lib.settings import Settings
from tests.harness.listed import counts
from tests.harness.servers import ROOT, client_of, in_process
from tests.harness.stack import READ_KEY, WRITE_KEY, agent_keys

QUERIES = {
    "BACKEND_URL": "https://backend-url.example",
    "BACKEND_READ_TOKEN": "value-of-the-read-token",
    "KV_REST_API_URL": "https://store-url.example",
    "KV_REST_API_READ_ONLY_TOKEN": "value-of-the-store-read-token",
    "AGENT_KEYS": agent_keys(),
    "STATE_KEY": "value-of-the-state-key-0123456789abcdef",
    "CRON_SECRET": "value-of-the-cron-secret",
}
POWER = {
    "BACKEND_WRITE_TOKEN": "value-of-the-write-token",
    "KV_REST_API_TOKEN": "value-of-the-store-token",
}
PRODUCTION = {"VERCEL": "1", "VERCEL_ENV": "production", "VERCEL_URL": "a.vercel.app"}
DEVELOPMENT = {"VERCEL_ENV": "development"}
PREVIEW = {"VERCEL": "1", "VERCEL_ENV": "preview"}
SCRATCH = {
    "SCRATCH_BACKEND_URL": "https://scratch-backend.example",
    "SCRATCH_BACKEND_WRITE_TOKEN": "value-of-the-scratch-token",
    "SCRATCH_REDIS_REST_URL": "https://scratch-store.example",
    "SCRATCH_REDIS_REST_TOKEN": "value-of-the-scratch-store-token",
}
HOSTILE = '</code><script>alert("1")</script>&'


async def page(
    env: dict[str, str], *, host: str = "127.0.0.1", tools: Sequence[Tool] | None = None
) -> httpx.Response:
    async with client_of(in_process(env, tools=tools)) as http:
        return await http.get("/", headers={"Host": host})


@pytest.mark.parametrize("place", [PRODUCTION, PREVIEW])
async def test_a_deployment_tells_a_visitor_numbers_and_no_tool_names(
    place: dict[str, str],
) -> None:
    shown = await page({**QUERIES, **(POWER if place is PRODUCTION else {}), **place})
    assert shown.status_code == 200
    queries, commands = counts("items")
    rows = rf"<p>Queries[^<]*: {queries}</p>\n<p>Commands[^<]*: {commands}</p>"
    assert re.search(rf"<h3>items</h3>\n{rows}", shown.text)
    assert "get_item" not in shown.text
    assert "create_item" not in shown.text


async def test_a_developer_sees_names_and_descriptions_on_his_own_machine_only() -> None:
    env = {**QUERIES, **POWER, **DEVELOPMENT, "ALLOWED_HOSTS": "tunnel.example"}
    near, far = await page(env), await page(env, host="tunnel.example")
    assert "<code>create_item</code></dt><dd>Create an item;" in near.text
    assert "create_item" not in far.text


async def test_a_preview_says_what_it_withholds() -> None:
    bare = await page({**QUERIES, **PREVIEW})
    assert "Every command is withheld" in bare.text
    assert re.search(f"Commands[^<]*, withheld here: {counts('items')[1]}<", bare.text)
    scratch = await page({**QUERIES, **PREVIEW, **SCRATCH})
    assert "commands change scratch systems only" in scratch.text
    assert "withheld" not in scratch.text.split("list_toolsets")[0]


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("a.vercel.app", "https://a.vercel.app/mcp"),
        ("localhost:3000", "http://localhost:3000/mcp"),
        ("[::1]:3000", "http://[::1]:3000/mcp"),
    ],
)
async def test_the_lines_name_the_server_as_its_caller_reached_it(host: str, url: str) -> None:
    shown = await page({**QUERIES, **POWER, **PRODUCTION}, host=host)
    assert shown.text.count(url) == len(CLIENTS)
    assert "/mcp/readonly" in shown.text
    assert '<a href="/healthz">' in shown.text


@pytest.mark.parametrize(
    "host", ["evil.example", HOSTILE, "a.vercel.app/<b>", "a.vercel.app@evil.example", ""]
)
async def test_a_foreign_host_header_never_reaches_the_page(host: str) -> None:
    for env in ({**QUERIES, **POWER, **PRODUCTION}, PRODUCTION):
        shown = await page(env, host=host)
        assert "evil" not in shown.text
        assert "<b>" not in shown.text
        assert "<script" not in shown.text
    shown = await page({**QUERIES, **POWER, **PRODUCTION}, host=host)
    assert shown.text.count("https://YOUR-HOST/mcp") == len(CLIENTS)


async def test_what_a_tool_says_of_itself_stays_text() -> None:
    tool = replace(builtin_queries()[1], name="get_x", toolset="x", description=HOSTILE)
    shown = await page({**QUERIES, **POWER, **DEVELOPMENT}, tools=[tool])
    assert "<script" not in shown.text + frame.code(HOSTILE) + frame.listing(HOSTILE)
    assert "&lt;/code&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;" in shown.text


async def test_the_checklist_names_every_variable_once_in_its_place() -> None:
    shown = await page({**PRODUCTION, **QUERIES, "CRON_SECRET": "short", "MAX_DURATION_S": "50"})
    assert shown.status_code == 200
    to_change, present, unset = re.split('<ul class="(?:un)?set">', shown.text)
    listed = [
        re.findall("<(?:dt|li)><code>([A-Z_]+)", part) for part in (to_change, present, unset)
    ]
    assert set(listed[0]) == {*POWER, "CRON_SECRET"}
    assert set(listed[1]) == {*QUERIES, "MAX_DURATION_S"} - {"CRON_SECRET"}
    names = {name.upper() for name in Settings.model_fields if not name.startswith("vercel")}
    assert sorted(chain.from_iterable(listed)) == sorted(names)


async def test_the_checklist_says_what_to_do_next_on_vercel() -> None:
    shown = await page({**PRODUCTION, **QUERIES, "CRON_SECRET": "short"})
    assert "vercel env add BACKEND_WRITE_TOKEN production\n" in shown.text
    assert "vercel env update CRON_SECRET production" in shown.text
    assert "vercel deploy --prod" in shown.text
    assert ".env.example" in shown.text


async def test_a_preview_is_never_told_to_remove_what_production_needs() -> None:
    shown = await page({**PREVIEW, **QUERIES, **POWER})
    assert "take Preview off" in shown.text
    assert not re.search("vercel env [a-z]+ (BACKEND_WRITE_TOKEN|KV_REST_API_TOKEN)", shown.text)


async def test_off_vercel_the_checklist_names_the_dev_server() -> None:
    shown = await page({})
    assert shown.status_code == 200
    assert "uv run -m lib.dev" in shown.text
    assert "vercel env" not in shown.text


@pytest.mark.parametrize(
    "place", [PRODUCTION, DEVELOPMENT, PREVIEW, {**PREVIEW, **SCRATCH}, {**PRODUCTION, **SCRATCH}]
)
@pytest.mark.parametrize("given", [QUERIES, {**QUERIES, **POWER}])
async def test_no_page_shows_a_value(place: dict[str, str], given: dict[str, str]) -> None:
    misplaced = json.dumps([{"value-of-a-misplaced-key": ["call:tools"]}])
    digests = [key["sha256"] for key in json.loads(agent_keys())]
    for keys in (agent_keys(), misplaced, READ_KEY, f"[{READ_KEY}]"):
        shown = await page({**given, **place, "AGENT_KEYS": keys})
        assert not re.search(r"value-of|-url\.example|scratch-(backend|store)\.", shown.text)
        assert not any(secret in shown.text for secret in (READ_KEY, WRITE_KEY, *digests))


@pytest.mark.parametrize("env", [{**QUERIES, **POWER, **PRODUCTION}, PRODUCTION])
async def test_a_page_runs_nothing_and_loads_nothing(env: dict[str, str]) -> None:
    shown = await page(env)
    policy = shown.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert shown.headers["cache-control"] == "no-store"
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert shown.headers["x-frame-options"] == "DENY"
    assert shown.headers["referrer-policy"] == "no-referrer"
    assert not re.search(r"<script|<link|<img|src=|@import|url\(|style=|http-equiv", shown.text)
    assert shown.text.count("<style>") == shown.text.count("<h1>") == 1


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read_in_both_colour_schemes(scheme: int) -> None:
    colours = dict(re.findall("--([a-z]+):(#[0-9a-f]+)", frame.STYLE.split("@media")[scheme]))
    for ground in ("paper", "card"):
        for ink in ("ink", "soft", "link", "good", "warn", "bad"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_client_that_can_be_connected_is_shown() -> None:
    assert set(CLIENTS) == set(get_args(Client.__value__))


FRESH = """
import asyncio, sys
from api.index import app
async def get():
    sent = []
    async def send(message): sent.append(message)
    async def receive(): return {"type": "http.request", "body": b"", "more_body": False}
    await app({"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "scheme": "http",
        "query_string": b"", "headers": [(b"host", b"localhost")], "http_version": "1.1"},
        receive, send)
    return sent[0]["status"], b"value-of" in sent[1]["body"]
print(*asyncio.run(get()), *sorted(sys.modules))
"""


@pytest.mark.parametrize(
    "env",
    [
        {**QUERIES, **POWER, **PRODUCTION},
        PRODUCTION,
        {**PRODUCTION, "MAX_DURATION_S": "value-of-no-number"},
    ],
)
def test_the_page_is_shown_without_importing_what_only_calls_need(
    env: dict[str, str], tmp_path: Path
) -> None:
    shown = subprocess.run(  # noqa: S603  our own interpreter and text
        [sys.executable, "-c", FRESH],
        env={"PYTHONPATH": str(ROOT), **env},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    ).stdout.split()
    assert shown[:2] == ["200", "False"]
    assert "starlette" in shown
    assert not {"lib.machinery.outcome", "lib.machinery.runner.record"} & set(shown)
    assert not {"fastapi", "mcp", "jinja2", "rich", "httpx", "upstash_redis", "jwt"} & set(shown)
