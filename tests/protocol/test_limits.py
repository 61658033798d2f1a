"""What a caller may send and what leaves: bounded in bytes, depth, length, declared fields."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from lib.contract import Call, Command, Query, Tool, Unaskable
from tests.harness.servers import client_of, in_process
from tests.harness.stack import WRITE_KEY, Stack
from tests.harness.wire import LEGACY, MODERN, Mcp

MIB = 1 << 20


class Anything(BaseModel):
    """Arguments of any shape."""

    value: Any = None


class Declared(BaseModel):
    """What may leave."""

    shown: str
    number: float = 0.0


class Generous(Declared):
    """What a careless backend gives."""

    hidden: str = "secret-of-the-backend"


type Perform = Callable[[Anything, Call], Awaitable[Declared]]


def answering(make: Callable[[], Declared]) -> list[Tool]:
    """Declare one query and one command that answer with what `make` gives."""

    async def perform(_sent: Anything, _call: Call) -> Declared:
        return make()

    common: dict[str, Any] = {
        "toolset": "test",
        "description": "A tool of a test.",
        "arguments": Anything,
        "result": Declared,
        "perform": perform,
    }
    command = Command(
        name="send_thing", backend=Unaskable(), destructive=False, target="a test", **common
    )
    return [Query(name="get_thing", **common), command]


def small() -> Declared:
    return Declared(shown="yes")


async def called(
    stack: Stack, name: str, make: Callable[[], Declared] = small, **arguments: Any
) -> dict[str, Any]:
    async with client_of(in_process(stack.env(), tools=answering(make))) as http:
        return await Mcp(http=http).call(name, **arguments)


def body_of(size: int) -> bytes:
    head = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"'
    return head + b"a" * (size - len(head) - 3) + b'"}}'


async def post(http: httpx.AsyncClient, era: str, **content: Any) -> httpx.Response:
    headers = {
        "Authorization": f"Bearer {WRITE_KEY}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": era,
    }
    return await http.post("/mcp", headers=headers, **content)


@pytest.mark.parametrize("era", [MODERN, LEGACY])
async def test_a_body_is_at_most_one_mebibyte(stack: Stack, era: str) -> None:
    async def pieces(size: int) -> Any:
        body = body_of(size)
        for at in range(0, size, 1 << 16):
            yield body[at : at + (1 << 16)]

    async with client_of(in_process(stack.env())) as http:
        assert (await post(http, era, content=body_of(MIB + 1))).status_code == 413
        assert (await post(http, era, content=pieces(MIB + 1))).status_code == 413
        assert (await post(http, era, content=body_of(MIB))).status_code != 413


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


VALUES: list[tuple[Any, bool]] = [
    (nested(29), True),
    (nested(40), False),
    ("x" * 65_536, True),
    ("x" * 65_537, False),
    ([0] * 10_000, True),
    ([0] * 10_001, False),
    ({str(n): 0 for n in range(10_001)}, False),
    ([{"deep": ["x" * 65_537]}], False),
    (10**300, True),
    (10**400, False),
    ([-(10**400)], False),
]


@pytest.mark.parametrize("name", ["get_thing", "send_thing"])
async def test_arguments_are_bounded_in_depth_length_and_size(stack: Stack, name: str) -> None:
    async with client_of(in_process(stack.env(), tools=answering(small))) as http:
        mcp = Mcp(http=http)
        for number, (value, is_let_in) in enumerate(VALUES):
            result = await mcp.call(name, value=value, idempotency_key=f"k{number}")
            text = result["content"][0]["text"]
            if is_let_in:
                # What JSON cannot write exactly is still no argument of a command.
                assert not result["isError"] or "53 bits" in text
            else:
                assert text.startswith("Input validation error: arguments: ")
                assert len(text) < 200


async def test_more_than_a_hundred_rows_is_invalid(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        for limit in (101, 0, -1, 10**30):
            result = await mcp.call("list_items", limit=limit)
            assert result["content"][0]["text"].startswith("Input validation error: limit: ")
        assert (await mcp.call("list_items", limit="100"))["isError"] is False


@pytest.mark.parametrize("name", ["get_thing", "send_thing"])
async def test_only_declared_fields_leave(stack: Stack, name: str) -> None:
    result = await called(stack, name, lambda: Generous(shown="yes"), idempotency_key="k")
    content = result["structuredContent"]
    assert (content if name == "get_thing" else content["result"]) == {"shown": "yes", "number": 0}
    assert "secret" not in json.dumps(result)


async def test_an_answer_above_256_kib_is_an_error_that_says_so(stack: Stack) -> None:
    fits = await called(stack, "get_thing", lambda: Declared(shown="é" * 130_000))
    large = await called(stack, "get_thing", lambda: Declared(shown="é" * 131_100))
    assert fits["isError"] is False
    assert (large["isError"], "structuredContent" in large) == (True, False)
    assert "256 KiB" in large["content"][0]["text"]


def fail() -> Declared:
    raise KeyError("secret-of-the-backend")


def unfit() -> Declared:
    return Anything(value="secret-of-the-backend")  # pyright: ignore[reportReturnType]  a bug


UNFIT: list[Callable[[], Declared]] = [
    lambda: Declared(shown="\ud800"),
    lambda: Declared(shown="x", number=float("nan")),
    lambda: Declared(shown="x", number=float("inf")),
    fail,
    unfit,
]


async def test_a_query_that_answers_what_json_cannot_hold_fails_in_words(
    stack: Stack, caplog: pytest.LogCaptureFixture
) -> None:
    for make in UNFIT:
        result = await called(stack, "get_thing", make)
        assert result["isError"] is True
        said = "This server failed to answer. Nothing was changed."
        assert result["content"][0]["text"] == said
    assert "secret" not in caplog.text


@pytest.mark.parametrize("make", [lambda: Declared(shown="\ud800"), unfit])
async def test_a_command_that_answers_so_occurred_all_the_same(
    stack: Stack, make: Callable[[], Declared]
) -> None:
    result = await called(stack, "send_thing", make, idempotency_key="k")
    said = result["structuredContent"]
    assert (said["outcome"], said["side_effect"]) == ("succeeded", "occurred")
    assert (said["result"], said["error"]["code"]) == (None, "answer_not_kept")


KEYS: list[Any] = ["", " ", "\u3000", "x" * 129, "a\nb", "a\x7f", 7, None, ["k"]]


async def test_a_key_that_breaks_the_rules_is_invalid_everywhere(stack: Stack) -> None:
    rule = "Input validation error: idempotency_key: "
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        for key in KEYS:
            command = await mcp.call("create_item", name="a", quantity=1, idempotency_key=key)
            query = await mcp.call("get_operation", idempotency_key=key)
            assert command["structuredContent"]["outcome"] == "invalid"
            assert command["content"][0]["text"].startswith(rule)
            assert query["content"][0]["text"].startswith(rule)
    assert stack.front.exchanges == []


async def test_a_key_of_any_128_code_points_will_do(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        for key in ("é" * 128, "👍🏽 ok", "a b", "\u202eabc", "=?base64?eA==?="):
            done = await mcp.settle("create_item", name="a", quantity=1, idempotency_key=key)
            assert done["outcome"] == "succeeded"
    assert stack.items.effects().created == 5
