"""A preview with scratch systems: two stacks, and nothing of one ever in the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lib.dev.engine import Engine, start_engine
from tests.harness.servers import client_of, in_process
from tests.harness.stack import (
    READ_TOKEN,
    STORE_READ_TOKEN,
    STORE_TOKEN,
    WRITE_TOKEN,
    Stack,
    running_stack,
)
from tests.harness.wire import Mcp

SENT = {"name": "lamp", "quantity": 1, "idempotency_key": "k"}


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Stack]:
    """A second engine and a second items service."""
    (tmp_path / "scratch").mkdir()
    with (
        start_engine(tmp_path / "scratch-engine") as engine,
        running_stack(engine, tmp_path / "scratch") as parts,
    ):
        yield parts


def env_of(stack: Stack, scratch: Stack, **more: str) -> dict[str, str]:
    env = stack.env(
        VERCEL_ENV="preview",
        SCRATCH_BACKEND_URL=scratch.items_url,
        SCRATCH_BACKEND_WRITE_TOKEN=WRITE_TOKEN,
        SCRATCH_REDIS_REST_URL=scratch.store_url,
        SCRATCH_REDIS_REST_TOKEN=STORE_TOKEN,
        **more,
    )
    del env["BACKEND_WRITE_TOKEN"], env["KV_REST_API_TOKEN"]
    return env


async def test_effects_and_records_land_in_the_scratch_systems_only(
    stack: Stack, scratch: Stack
) -> None:
    async with client_of(in_process(env_of(stack, scratch))) as http:
        mcp = Mcp(http=http)
        done = await mcp.settle("create_item", **SENT)
        again = await mcp.settle("create_item", **SENT)
        known = (await mcp.call("get_operation", idempotency_key="k"))["structuredContent"]
    assert (done["outcome"], again["this_call"]) == ("succeeded", "replayed")
    assert (known["known"], known["operation_id"]) == (True, done["operation_id"])
    assert (stack.items.effects().created, scratch.items.effects().created) == (0, 1)
    assert stack.front.exchanges == []
    assert len(scratch.front.exchanges) == 4


async def test_a_preview_record_never_meets_productions_even_in_one_store(
    stack: Stack, scratch: Stack
) -> None:
    shared = env_of(stack, scratch) | {
        "KV_REST_API_URL": "https://elsewhere.example",
        "SCRATCH_REDIS_REST_URL": stack.store_url,
    }
    names = set[str]()
    for env in (shared, shared | {"VERCEL_ENV": "staging"}, stack.env()):
        async with client_of(in_process(env)) as http:
            done = await Mcp(http=http).settle("create_item", **SENT)
        assert (done["outcome"], done["this_call"]) == ("succeeded", "executed")
        names.add(done["operation_id"])
    assert len(names) == 3


async def test_queries_of_a_preview_read_the_own_system_with_the_read_token(
    stack: Stack, scratch: Stack
) -> None:
    async with client_of(in_process(stack.env())) as http:
        await Mcp(http=http).settle("create_item", **SENT)
    async with client_of(in_process(env_of(stack, scratch))) as http:
        listed = await Mcp(http=http).call("list_items")
    assert [item["name"] for item in listed["structuredContent"]["items"]] == ["lamp"]
    assert {READ_TOKEN, STORE_READ_TOKEN} <= set(env_of(stack, scratch).values())
    assert scratch.items.faults.seen == ()


async def test_a_replay_from_production_is_unknown_to_a_preview(
    stack: Stack, scratch: Stack
) -> None:
    async with client_of(in_process(stack.env())) as http:
        await Mcp(http=http).settle("create_item", **SENT)
    async with client_of(in_process(env_of(stack, scratch))) as http:
        known = await Mcp(http=http).call("get_operation", idempotency_key="k")
    assert known["structuredContent"]["known"] is False


def test_engines_are_two(engine: Engine, scratch: Stack) -> None:
    assert str(engine.socket_path) not in scratch.store_url
