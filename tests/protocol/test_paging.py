"""Listings: capped in rows and bytes, continued exactly, with cursors that fit no other query."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import BaseModel, Field

from lib.contract import Call, Page, PageArguments, Query, Tool
from tests.harness.approval import new_item
from tests.harness.servers import client_of, in_process
from tests.harness.stack import OTHER_KEY, READ_KEY, Stack
from tests.harness.wire import Mcp

MAX_BYTES = 256 * 1024


class Row(BaseModel):
    """One row of a listing."""

    id: int
    text: str


class Fat(Row):
    """A row with more than was declared."""

    hidden: str = "secret-of-the-backend"


class Sized(PageArguments):
    """A listing of rows of a size. large: the one row that is larger. seed: another query."""

    limit: int = Field(default=50, ge=2, le=100)  # narrower than what a page may have
    size: int
    large: int = -1
    count: int = 250
    seed: int = 0


async def _rows(asked: Sized, _call: Call) -> Page[Row]:
    start = int(asked.cursor or "0")
    end = min(start + asked.limit, asked.count)
    rows: list[Row] = [
        Fat(id=n, text="é" * (MAX_BYTES if n == asked.large else asked.size // 2))
        for n in range(start, end)
    ]
    return Page(items=rows, next_cursor=str(end) if end < asked.count else None)


def tools() -> list[Tool]:
    common: dict[str, Any] = {
        "toolset": "test",
        "description": "Rows of a size.",
        "arguments": Sized,
        "result": Page[Row],
        "perform": _rows,
    }
    return [Query(name="list_rows", **common), Query(name="search_rows", **common)]


@asynccontextmanager
async def calling(stack: Stack, key: str = READ_KEY, **more: str) -> AsyncGenerator[Mcp]:
    async with client_of(in_process(stack.env(**more), tools=tools())) as http:
        yield Mcp(http=http, key=key)


async def page(mcp: Mcp, tool: str = "list_rows", **sent: Any) -> dict[str, Any]:
    result = await mcp.call(tool, **sent)
    assert result["isError"] is False, result
    return result["structuredContent"]


async def walk(mcp: Mcp, limits: list[int], **sent: Any) -> tuple[list[int], list[int]]:
    """Follow the cursors; give the ids in order, and the rows per page."""
    ids, counts, cursor = list[int](), list[int](), None
    while len(counts) < 300:
        limit = limits[len(counts) % len(limits)]
        got = await page(mcp, limit=limit, cursor=cursor, **sent)
        assert len(json.dumps(got, ensure_ascii=False).encode()) <= MAX_BYTES
        assert len(got["items"]) <= limit
        ids += [row["id"] for row in got["items"]]
        counts.append(len(got["items"]))
        cursor = got["next_cursor"]
        if cursor is None:
            return ids, counts
    raise AssertionError("the pages never end")


@pytest.mark.parametrize("size", [10, 2_600, 3_000, 60_000, 130_000, 260_000])
async def test_no_row_is_lost_or_doubled_at_any_size(stack: Stack, size: int) -> None:
    total = 250 if size < 10_000 else 30
    async with calling(stack) as mcp:
        for limits in ([100], [7], [100, 3, 50]):
            ids, counts = await walk(mcp, limits, size=size, count=total)
            assert ids == list(range(total))
            if size == 60_000 and limits == [100]:
                assert max(counts) == 4


async def test_one_row_above_the_cap_is_an_error_that_says_so(stack: Stack) -> None:
    async with calling(stack) as mcp:
        before = await page(mcp, size=10, large=3, limit=100)
        result = await mcp.call(
            "list_rows", size=10, large=3, limit=100, cursor=before["next_cursor"]
        )
    assert [row["id"] for row in before["items"]] == [0, 1, 2]
    assert result["isError"] is True
    assert "One row alone is larger than 256 KiB" in result["content"][0]["text"]


async def test_rows_leave_with_their_declared_fields_only(stack: Stack) -> None:
    async with calling(stack) as mcp:
        got = await page(mcp, size=10, limit=2)
    assert got["items"][0].keys() == {"id", "text"}


@pytest.mark.parametrize(
    "change",
    [{"tool": "search_rows"}, {"size": 11}, {"seed": 1}, {"key": OTHER_KEY}],
)
async def test_a_cursor_fits_no_other_tool_query_or_principal(
    stack: Stack, change: dict[str, Any]
) -> None:
    async with calling(stack) as mcp:
        cursor = (await page(mcp, size=10, limit=5))["next_cursor"]
        other = Mcp(http=mcp.http, key=change.pop("key", mcp.key))
        tool, sent = change.pop("tool", "list_rows"), {"size": 10, "limit": 5, **change}
        result = await other.call(tool, **sent, cursor=cursor)
        again = await page(mcp, size=10, limit=5, cursor=cursor)
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Input validation error: cursor: ")
    assert again["items"][0]["id"] == 5


async def test_a_cursor_cannot_be_made_or_changed(stack: Stack) -> None:
    async with calling(stack) as mcp:
        good: str = (await page(mcp, size=10, limit=5))["next_cursor"]
        forged = [
            f"{good[:at]}{'A' if good[at] != 'A' else 'B'}{good[at + 1 :]}"
            for at in range(0, len(good) - 2, 9)
        ]
        forged += ["5", "", good[:-4], good + good, "é", "x" * 4096, "x" * 4097, '{"at":{}}']
        for cursor in forged:
            result = await mcp.call("list_rows", size=10, limit=5, cursor=cursor)
            assert result["content"][0]["text"].startswith("Input validation error: cursor: ")
    async with calling(stack, STATE_KEY="another-key-0123456789-0123456789-0123") as mcp:
        result = await mcp.call("list_rows", size=10, limit=5, cursor=good)
    assert result["isError"] is True


async def test_another_instance_reads_the_cursor_and_no_backend_cursor_shows(stack: Stack) -> None:
    async with calling(stack) as mcp:
        cursor = (await page(mcp, size=10, limit=5))["next_cursor"]
    async with calling(stack) as mcp:
        assert (await page(mcp, size=10, limit=3, cursor=cursor))["items"][0]["id"] == 5
    assert len(cursor) > 40


async def test_a_number_no_fingerprint_can_hold_is_invalid(stack: Stack) -> None:
    async with calling(stack) as mcp:
        result = await mcp.call("list_rows", size=10, limit=5, seed=10**30)
    assert result["content"][0]["text"].startswith("Input validation error: arguments: ")


async def test_the_items_service_is_walked_to_its_end(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp, ids, cursor = Mcp(http=http), list[str](), None
        made = [await new_item(mcp, name=f"lamp {number}") for number in range(7)]
        while True:
            sent = {"text": "lamp", "limit": 3, **({"cursor": cursor} if cursor else {})}
            got = (await mcp.call("search_items", **sent))["structuredContent"]
            ids += [item["id"] for item in got["items"]]
            cursor = got["next_cursor"]
            if cursor is None:
                break
    assert ids == made


async def test_the_limit_may_change_from_page_to_page(stack: Stack) -> None:
    async with calling(stack) as mcp:
        cursor = (await page(mcp, size=10, limit=2))["next_cursor"]
        more = await page(mcp, size=10, limit=50, cursor=cursor)
    assert [row["id"] for row in more["items"]] == list(range(2, 52))
