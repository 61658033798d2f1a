"""The audit line: its documented schema to the letter, and exactly one per decision."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from lib.dev.faults import refusal, unavailable
from lib.dev.faulty import call
from tests.harness.approval import NO, first_round, new_item, second_round
from tests.harness.audit import Line, audit_lines
from tests.harness.servers import client_of, in_process
from tests.harness.stack import OTHER_KEY, READ_KEY, Stack
from tests.harness.wire import LEGACY, MODERN, Mcp

type Check = Callable[[Any], bool]


def one_of(*values: Any) -> Check:
    return lambda value: value in values


def text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def maybe(check: Check) -> Check:
    return lambda value: value is None or check(value)


def hints(value: Any) -> bool:
    names = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    return value.keys() == names and all(isinstance(hint, bool) for hint in value.values())


def source(value: Any) -> bool:
    is_route = value["endpoint"] in {"/mcp", "/mcp/readonly"}
    return value.keys() == {"endpoint", "client"} and is_route and maybe(text)(value["client"])


def instant(value: Any) -> bool:
    return datetime.fromisoformat(value).utcoffset() == timedelta(0)


def scopes(value: Any) -> bool:
    return value == sorted(value) and all(text(scope) for scope in value)


# DESIGN §7, in its order; a field more, a field less or another order is a change of the schema.
SCHEMA: dict[str, Check] = {
    "event": one_of("decision"),
    "ts": instant,
    "kind": one_of("list", "query", "command", None),
    "tool": maybe(text),
    "actor": maybe(text),
    "source": source,
    "annotations": maybe(hints),
    "grant": scopes,
    "checked": one_of("call:tools", "call:write_tools", None),
    "decision": one_of("allow", "refuse"),
    "reason": maybe(text),
    "outcome": one_of(
        "succeeded", "failed", "invalid", "rejected", "not_executed", "in_progress", "in_doubt",
        "key_reused", "forbidden", "store_unavailable", None,
    ),
    "side_effect": one_of("none", "occurred", "unknown", None),
    "this_call": one_of("executed", "replayed", "recovered", "not_executed", None),
    "operation_id": maybe(lambda value: len(value) == 64),
    "latency_ms": lambda value: isinstance(value, float) and 0 <= value < 60_000,
    "approved_by_human": one_of(True, False),
    "request_id": text,
    "deployment_id": maybe(text),
}  # fmt: skip


def check_schema(line: Line) -> None:
    level = line.pop("_level")
    assert level == "INFO"
    assert list(line) == list(SCHEMA)
    assert [name for name, check in SCHEMA.items() if not check(line[name])] == []


def brief(line: Line) -> tuple[Any, ...]:
    names = ("kind", "tool", "actor", "decision", "reason", "outcome", "side_effect")
    return tuple(line[name] for name in names)


async def test_every_decision_writes_one_line_of_the_documented_schema(stack: Stack) -> None:
    stack.items.faults.plan(refusal(422, "invalid"), on=call("POST", "/notices"))
    lamp = {"name": "lamp", "quantity": 1}
    with audit_lines() as lines:
        async with client_of(in_process(stack.env())) as http:
            mcp, reader = Mcp(http=http), Mcp(http=http, key=READ_KEY)
            await mcp.send("tools/list")
            item = await new_item(mcp)
            await mcp.call("get_item", item_id=item)
            await mcp.call("get_item", item_id="none")
            await mcp.call("list_items", limit=101)
            await mcp.call("create_item", **lamp, idempotency_key="new lamp")
            await mcp.call("create_item", name="chair", quantity=1, idempotency_key="new lamp")
            await mcp.call("create_item", name="chair")
            await mcp.call("send_notice", item_id=item, message="hm", idempotency_key="n")
            await reader.send("tools/call", name="create_item", arguments=lamp)
            await Mcp(http=http, path="/mcp/readonly").call("create_item", **lamp)
            await mcp.send("tools/call", name="drop_items", arguments={})
            await Mcp(http=http, key="no-key-of-ours").send("tools/list")
            await Mcp(http=http, key=None).send("tools/call", name="get_item", arguments={})
    none, write = "none", "writer"
    assert [brief(line) for line in lines] == [
        ("list", None, write, "allow", None, "succeeded", none),
        ("command", "create_item", write, "allow", None, "succeeded", "occurred"),
        ("query", "get_item", write, "allow", None, "succeeded", none),
        ("query", "get_item", write, "allow", None, "failed", none),
        ("query", "list_items", write, "allow", None, "invalid", none),
        ("command", "create_item", write, "allow", None, "succeeded", "occurred"),
        ("command", "create_item", write, "allow", None, "key_reused", none),
        ("command", "create_item", write, "allow", None, "invalid", none),
        ("command", "send_notice", write, "allow", None, "rejected", none),
        ("command", "create_item", "reader", "refuse", "scope", "forbidden", "unknown"),
        ("command", "create_item", write, "refuse", "readonly", "forbidden", "unknown"),
        (None, None, write, "refuse", "unknown_tool", None, None),
        (None, None, None, "refuse", "unknown", None, None),
        (None, None, None, "refuse", "missing", None, None),
    ]
    for line in lines:
        check_schema(line)


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Host": "evil.example"}, "host_not_allowed"),
        ({"Origin": "https://evil.example"}, "origin_not_allowed"),
    ],
)
async def test_a_foreign_host_or_origin_is_refused_in_one_line(
    stack: Stack, headers: dict[str, str], reason: str
) -> None:
    with audit_lines() as lines:
        async with client_of(in_process(stack.env())) as http:
            await http.post("/mcp", headers={"Authorization": f"Bearer {READ_KEY}", **headers})
    assert [brief(line) for line in lines] == [(None, None, None, "refuse", reason, None, None)]
    for line in lines:
        check_schema(line)


async def test_an_approval_writes_the_question_and_the_answer(stack: Stack) -> None:
    with audit_lines() as lines:
        async with client_of(in_process(stack.env())) as http:
            mcp = Mcp(http=http)
            asked = await first_round(mcp, item_id="1", idempotency_key="k")
            await second_round(mcp, asked.state, NO, item_id="1", idempotency_key="k")
            await second_round(mcp, asked.state, item_id="1", idempotency_key="k")
    assert [(each["reason"], each["outcome"], each["approved_by_human"]) for each in lines] == [
        ("approval_asked", None, False),
        ("declined", "forbidden", False),
        (None, "rejected", True),
    ]
    for line in lines:
        check_schema(line)


@pytest.mark.parametrize("era", [MODERN, LEGACY])
async def test_queries_and_commands_are_written_alike_in_both_eras(stack: Stack, era: str) -> None:
    with audit_lines() as lines:
        async with client_of(in_process(stack.env())) as http:
            mcp = Mcp(http=http, era=era)
            await mcp.call("list_items")
            await mcp.call("create_item", name="lamp", quantity=1, idempotency_key="k")
    assert [(line["kind"], line["_level"]) for line in lines] == [
        ("query", "INFO"),
        ("command", "INFO"),
    ]


async def test_a_refused_query_fails_without_a_side_effect(stack: Stack) -> None:
    env = stack.env()
    env["AGENT_KEYS"] = env["AGENT_KEYS"].replace('"call:tools"', '"call:other"')
    with audit_lines() as lines:
        async with client_of(in_process(env)) as http:
            await Mcp(http=http).send("tools/call", name="list_items", arguments={})
    [line] = lines
    assert brief(line)[3:] == ("refuse", "scope", "failed", "none")
    assert line["checked"] == "call:tools"


async def test_what_a_backend_does_shows_in_the_line_and_its_text_does_not(stack: Stack) -> None:
    stack.items.faults.plan(unavailable("before"), on=call("POST", "/notices"), count=None)
    with audit_lines() as lines:
        async with client_of(in_process(stack.env())) as http:
            mcp = Mcp(http=http)
            said = await mcp.settle("send_notice", item_id="1", message="m", idempotency_key="k")
            other = Mcp(http=http, key=OTHER_KEY)
            await other.call("get_operation", idempotency_key="k")
    assert [(line["outcome"], line["side_effect"], line["actor"]) for line in lines] == [
        ("in_doubt", "unknown", "writer"),
        ("succeeded", "none", "another"),
    ]
    assert lines[0]["operation_id"] == said["operation_id"]
    assert lines[1]["operation_id"] is None


async def test_the_line_names_request_and_deployment(stack: Stack) -> None:
    with audit_lines() as lines:
        async with client_of(in_process(stack.env(VERCEL_DEPLOYMENT_ID="dpl_42"))) as http:
            http.headers["x-vercel-id"] = "iad1::abc-123"
            await Mcp(http=http).send("tools/list")
            http.headers["x-vercel-id"] = 'iad1" forged'
            await Mcp(http=http).send("tools/list")
    assert [line["deployment_id"] for line in lines] == ["dpl_42", "dpl_42"]
    assert lines[0]["request_id"] == "iad1::abc-123"
    assert "forged" not in str(lines[1])
