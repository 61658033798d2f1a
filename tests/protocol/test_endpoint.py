"""The MCP endpoint as HTTP: who gets in, what is refused before the SDK, what is left behind."""

import asyncio
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.types import Message

from tests.harness.servers import client_of, in_process
from tests.harness.stack import READ_KEY, WRITE_KEY, Stack
from tests.harness.wire import LEGACY, MODERN, Mcp

ERAS = [MODERN, LEGACY, "2025-11-25"]
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def headers(**more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {READ_KEY}", "Accept": "application/json", **more}


@pytest.mark.parametrize("era", ERAS)
async def test_both_eras_call_a_query_on_one_endpoint(stack: Stack, era: str) -> None:
    async with client_of(in_process(stack.env())) as http:
        answer = await Mcp(http=http, era=era).call("list_items", limit="3")
    assert answer["structuredContent"] == {"items": [], "next_cursor": None}


async def test_a_handshake_client_is_answered_without_a_session(stack: Stack) -> None:
    hello = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    }
    async with client_of(in_process(stack.env())) as http:
        answer = await Mcp(http=http, era=LEGACY).send("initialize", **hello)
    assert answer.json()["result"]["protocolVersion"] == LEGACY
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/readonly"])
async def test_only_post_is_served(stack: Stack, method: str, path: str) -> None:
    async with client_of(in_process(stack.env())) as http:
        answer = await http.request(method, path, headers=headers())
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:3000", 200),
        ("localhost", 200),
        ("[::1]:80", 200),
        ("settle-git-x.vercel.app", 200),
        ("SETTLE.vercel.app:443", 200),
        ("mcp.example.com", 200),
        ("evil.example", 421),
        ("settle.vercel.app.evil.example", 421),
        ("", 421),
    ],
)
async def test_only_known_hosts_are_served(stack: Stack, host: str, status: int) -> None:
    env = stack.env(
        VERCEL_URL="settle-git-x.vercel.app",
        VERCEL_PROJECT_PRODUCTION_URL="settle.vercel.app",
        ALLOWED_HOSTS="mcp.example.com",
    )
    async with client_of(in_process(env)) as http:
        answer = await http.post("/mcp", headers=headers(Host=host), json=LIST)
    assert answer.status_code == status


async def test_a_server_that_lacks_a_setting_names_it_to_none_but_known_hosts(
    stack: Stack,
) -> None:
    async with client_of(in_process(stack.env(BACKEND_URL="not a url"))) as http:
        answer = await http.post("/mcp", headers=headers(Host="evil.example"), json=LIST)
    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "host_not_allowed")


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://localhost:5173", 200), ("https://evil.example", 403), ("null", 403), ("", 403)],
)
async def test_a_foreign_origin_is_refused(stack: Stack, origin: str, status: int) -> None:
    async with client_of(in_process(stack.env())) as http:
        answer = await http.post("/mcp", headers=headers(Origin=origin), json=LIST)
    assert answer.status_code == status


async def test_a_body_above_one_mebibyte_is_refused(stack: Stack) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","x":"' + b"a" * (1 << 20) + b'"}'
    async with client_of(in_process(stack.env())) as http:
        answer = await http.post(
            "/mcp", headers=headers() | {"Content-Type": "application/json"}, content=body
        )
    assert answer.status_code == 413


async def test_a_caller_that_hangs_up_within_its_body_is_not_answered(stack: Stack) -> None:
    half = {"type": "http.request", "body": b'{"jsonrpc":', "more_body": True}
    received = iter([half, {"type": "http.disconnect"}])
    sent: list[Message] = []

    async def receive() -> Message:
        return next(received)

    async def send(message: Message) -> None:
        sent.append(message)

    async with client_of(in_process(stack.env())) as http:
        request = Mcp(http=http).request("tools/list")
    scope = {"type": "http", "method": "POST", "path": "/mcp", "scheme": "http"}
    raw = [(name.lower(), text) for name, text in request.headers.raw]
    await in_process(stack.env())({**scope, "headers": raw}, receive, send)
    assert sent == []


@pytest.mark.parametrize("era", [MODERN, LEGACY])
async def test_no_task_is_left_when_the_answer_is_out(stack: Stack, era: str) -> None:
    before = asyncio.all_tasks()
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http, era=era)
        await mcp.settle("create_item", name="lamp", quantity=1, idempotency_key="k")
        after = asyncio.all_tasks()
    assert after == before


@pytest.mark.parametrize("era", [MODERN, LEGACY])
async def test_an_unknown_tool_is_a_protocol_error(stack: Stack, era: str) -> None:
    async with client_of(in_process(stack.env())) as http:
        answer = await Mcp(http=http, era=era).send("tools/call", name="no_such", arguments={})
    assert answer.json()["error"]["code"] == -32602


BAD: list[tuple[str, dict[str, Any], list[str]]] = [
    ("get_item", {"item_id": "no/../such"}, ["item_id"]),
    ("list_items", {"limit": 101}, ["limit"]),
    ("create_item", {"name": "secret" * 20, "quantity": "many", "x": 1}, ["name", "quantity", "x"]),
    ("create_item", {"name": "a", "quantity": 1}, ["idempotency_key"]),
    ("create_item", {"name": "a", "quantity": 1.0, "idempotency_key": "k"}, ["quantity"]),
    ("create_item", {"name": "a", "quantity": True, "idempotency_key": "k"}, ["quantity"]),
    ("create_item", {"name": "a", "quantity": 1, "idempotency_key": " "}, ["idempotency_key"]),
    ("create_item", {"name": "a", "quantity": 1, "idempotency_key": "k\n"}, ["idempotency_key"]),
    ("create_item", {"name": "a", "quantity": 1, "idempotency_key": 7}, ["idempotency_key"]),
    ("create_item", {"name": "a\u0000", "quantity": 1, "idempotency_key": "k"}, ["name"]),
    ("update_item", {"item_id": "a", "idempotency_key": "k"}, ["arguments"]),
]


@pytest.mark.parametrize(("tool", "arguments", "fields"), BAD)
async def test_a_bad_argument_is_told_by_field_and_rule_never_by_value(
    stack: Stack, tool: str, arguments: dict[str, Any], fields: list[str]
) -> None:
    async with client_of(in_process(stack.env())) as http:
        answer = await Mcp(http=http).call(tool, **arguments)
    text = answer["content"][0]["text"]
    assert answer["isError"] is True
    assert text.startswith("Input validation error: ")
    assert [f for f in fields if f"{f}: " not in text] == []
    assert [value for value in ("secret", "many") if value in text] == []
    assert stack.front.exchanges == []


async def test_an_invalid_command_carries_the_envelope(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        told = await Mcp(http=http).settle("create_item", name="", quantity=1, idempotency_key="k")
    assert (told["outcome"], told["side_effect"]) == ("invalid", "none")


async def test_no_credential_is_challenged(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        answer = await Mcp(http=http, key=None).send("tools/list")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer scope="call:tools call:write_tools"'


@pytest.mark.parametrize("era", [MODERN, LEGACY])
async def test_a_missing_scope_is_refused_before_anything_is_sent(stack: Stack, era: str) -> None:
    new = {"name": "lamp", "quantity": 1, "idempotency_key": "k"}
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http, key=READ_KEY, era=era)
        answer = await mcp.send("tools/call", name="create_item", arguments=new)
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    assert 'scope="call:write_tools"' in answer.headers["www-authenticate"]
    assert (stack.front.exchanges, stack.items.effects().created) == ([], 0)


async def test_the_read_only_endpoint_refuses_a_command_with_a_reason(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http, key=WRITE_KEY, path="/mcp/readonly")
        told = await mcp.settle("create_item", name="a", quantity=1, idempotency_key="k")
    assert (told["outcome"], told["side_effect"], told["error"]["code"]) == (
        "forbidden",
        "unknown",
        "readonly",
    )


async def test_a_faulty_environment_is_named_and_health_still_answers(stack: Stack) -> None:
    env = stack.env(BACKEND_URL="not a url", CRON_SECRET="short")
    async with client_of(in_process(env)) as http:
        answer = await http.post("/mcp", headers=headers(), json=LIST)
        health = await http.get("/healthz")
    error = answer.json()["error"]
    assert (answer.status_code, health.status_code) == (503, 200)
    assert error["code"] == "misconfigured"
    assert {fault["variable"] for fault in error["faults"]} == {"BACKEND_URL", "CRON_SECRET"}
    assert "not a url" not in answer.text


async def test_queries_cost_no_store_round_trip(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        await Mcp(http=http).call("list_items")
    assert stack.front.exchanges == []


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("POST", "/mcp/", 404, "not_found"),
        ("GET", "/.well-known/oauth-protected-resource/mcp", 404, "not_found"),
        ("POST", "/healthz", 405, "method_not_allowed"),
    ],
)
async def test_what_is_not_served_is_told_as_json(
    stack: Stack, method: str, path: str, status: int, code: str
) -> None:
    async with client_of(in_process(stack.env())) as http:
        answer = await http.request(method, path)
    assert (answer.status_code, answer.json()) == (status, {"error": {"code": code}})


async def test_an_application_of_yours_is_mounted_beside_the_server(stack: Stack) -> None:
    yours, app = FastAPI(), in_process(stack.env())
    yours.get("/{number}")(double)
    app.mount("/hooks", yours)
    async with client_of(app) as http:
        answers = [(await http.get(f"/hooks/{number}")).json() for number in (2, 21)]
        listed = await Mcp(http=http).result("tools/list")
    assert answers == [4, 42]
    assert "get_item" in {tool["name"] for tool in listed["tools"]}


async def double(number: int) -> int:
    return 2 * number
