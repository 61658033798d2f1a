"""All that a server process writes while every tool, refusal and failure is used, searched.

Each value that a caller, a backend or the environment holds has a mark of its own.
"""

import base64
import hashlib
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from lib.dev.faults import AnswerLost, HalfAnswer, UnreadableBody, bad_gateway, refusal, unavailable
from lib.dev.faulty import call
from lib.dev.store_faults import engine_error
from tests.harness.approval import NO, first_round, second_round
from tests.harness.nursery import standing
from tests.harness.stack import (
    CRON_SECRET,
    READ_KEY,
    READ_TOKEN,
    STATE_KEY,
    STORE_READ_TOKEN,
    STORE_TOKEN,
    WRITE_KEY,
    WRITE_TOKEN,
    Stack,
)
from tests.harness.wire import LEGACY, MODERN, Mcp

SECRETS = [
    CRON_SECRET, READ_KEY, READ_TOKEN, STATE_KEY, STORE_READ_TOKEN, STORE_TOKEN, WRITE_KEY,
    WRITE_TOKEN, hashlib.sha256(WRITE_KEY.encode()).hexdigest(),
]  # fmt: skip
MARK = "zq7marked"
MALFORMED = [
    f'{{"{MARK}":',
    f'[{{"jsonrpc":"2.0","id":1,"method":"{MARK}"}}]',
    f'{{"jsonrpc":"2.0","id":"{MARK}","method":"tools/call","params":"{MARK}"}}',
    f'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":["{MARK}"]}}}}',
    f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"x":"{MARK}"}}}}',
    f'{{"jsonrpc":"2.0","id":1,"result":{{"{MARK}":1}}}}',
]


def mark(what: str) -> str:
    return f"{MARK}-{what}"


@asynccontextmanager
async def written_by(
    stack: Stack, path: Path, target: str, **more: str
) -> AsyncGenerator[httpx.AsyncClient]:
    env = stack.env(**more)
    with (
        path.open("wb") as output,
        standing().server(env, target=target, output=output) as process,
    ):
        async with httpx.AsyncClient(base_url=process.url, timeout=10) as http:
            yield http


async def use_every_tool(mcp: Mcp) -> None:
    name = mark("name")
    made = await mcp.settle("create_item", name=name, quantity=1, idempotency_key=mark("k1"))
    item = made["result"]["id"]
    await mcp.send("tools/list")
    for tool, arguments in (
        ("get_item", {"item_id": item}),
        ("get_item", {"item_id": mark("nowhere")}),
        ("list_items", {"limit": 1}),
        ("list_items", {"cursor": mark("cursor")}),
        ("search_items", {"text": name}),
        ("get_operation", {"idempotency_key": mark("k1")}),
        ("list_toolsets", {mark("extra"): 1}),
        ("update_item", {"item_id": item, "name": mark("new"), "idempotency_key": mark("k2")}),
        ("send_notice", {"item_id": item, "message": mark("m"), "idempotency_key": mark("k3")}),
        ("create_item", {"name": mark("b"), "quantity": 2, "idempotency_key": mark("k1")}),
        ("create_item", {"name": mark("c"), mark("extra"): mark("d")}),
        ("create_item", {"name": [mark("e")], "quantity": mark("f"), "idempotency_key": "g"}),
        (mark("tool"), {"item_id": item}),
    ):
        await mcp.send("tools/call", name=tool, arguments=arguments)


async def use_every_refusal(http: httpx.AsyncClient, mcp: Mcp) -> None:
    sent: dict[str, Any] = {"item_id": mark("gone"), "idempotency_key": mark(f"k4{mcp.era}")}
    able = Mcp(http=http)
    asked = await first_round(able, **sent)
    await second_round(able, asked.state, NO, **sent)
    await second_round(able, mark("state"), **sent)
    await second_round(able, asked.state, **sent)
    for key, path in ((READ_KEY, "/mcp"), (mark("key"), "/mcp"), (WRITE_KEY, "/mcp/readonly")):
        other = Mcp(http=http, key=key, path=path, era=mcp.era)
        await other.send("tools/call", name="delete_item", arguments=sent)
    for body in MALFORMED:
        for headers in ({"MCP-Protocol-Version": mcp.era}, {"Origin": mark("origin")}, {}):
            signed = {"Authorization": f"Bearer {WRITE_KEY}", "Accept": "application/json"}
            await http.post(
                "/mcp",
                content=body,
                headers={"Content-Type": "application/json", **signed, **headers},
            )
    await http.get("/mcp", headers={"Authorization": mark("basic")})
    await http.get("/api/cron/reconcile", headers={"Authorization": f"Bearer {mark('cron')}"})
    await http.get("/api/cron/reconcile", headers={"Authorization": f"Bearer {CRON_SECRET}"})


async def use_every_failure(stack: Stack, mcp: Mcp) -> None:
    service, store = stack.items.faults, stack.store_faults
    faults = (
        AnswerLost(), HalfAnswer(), UnreadableBody(mark("body").encode()), unavailable("before"),
        bad_gateway("after"), refusal(422, mark("code")),
    )  # fmt: skip
    for number, fault in enumerate(faults):
        service.plan(fault, on=call("POST", "/notices"))
        service.plan(fault, on=call("GET", "/items"))
        await mcp.send("tools/call", name="search_items", arguments={"text": mark(f"t{number}")})
        sent = {"item_id": "1", "message": mark("m"), "idempotency_key": mark(f"f{number}")}
        await mcp.send("tools/call", name="send_notice", arguments=sent)
    for broken in (bad_gateway("before"), engine_error(f"ERR {mark('engine')}"), AnswerLost()):
        store.plan(broken, count=3)
        sent = {"item_id": "1", "message": mark("m"), "idempotency_key": mark("silent")}
        await mcp.send("tools/call", name="send_notice", arguments=sent)
        store.clear()


@pytest.mark.parametrize(
    ("target", "eras"),
    [("api.index:app", (LEGACY,)), ("tests.harness.loud:app", (MODERN, LEGACY))],
)
async def test_nothing_written_holds_a_secret_an_argument_or_a_key(
    stack: Stack, tmp_path: Path, target: str, eras: tuple[str, ...]
) -> None:
    path = tmp_path / "output"
    async with written_by(stack, path, target, RATE_LIMIT_PER_MINUTE="1000") as http:
        for era in eras:
            mcp = Mcp(http=http, era=era)
            await use_every_tool(mcp)
            await use_every_refusal(http, mcp)
            await use_every_failure(stack, mcp)
    written = path.read_text(encoding="utf-8", errors="replace")
    for value in (*SECRETS, MARK):
        forms = (value, base64.b64encode(value.encode()).decode().rstrip("="))
        assert [line for line in written.splitlines() if any(form in line for form in forms)] == []
    assert "Traceback" not in written
    check_it_spoke(written, target)


def check_it_spoke(written: str, target: str) -> None:
    """Hear the decisions: a silent process would have passed the search."""
    prefix = "INFO:settle.audit:" if "loud" in target else ""
    lines = [line.removeprefix(prefix) for line in written.splitlines() if '"decision"' in line]
    told = [json.loads(line) for line in lines]
    assert len(told) > 30
    assert {line["kind"] for line in told} == {"list", "query", "command", None}
    assert {line["decision"] for line in told} == {"allow", "refuse"}
    [swept, *_] = [line for line in written.splitlines() if '"event": "swept"' in line]
    assert json.loads(swept[swept.index("{") :])["counts"].keys() >= {"looked", "left"}
