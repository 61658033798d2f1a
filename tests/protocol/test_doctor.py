"""The doctor's checks, each on a part that is really ill in that way."""

import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from lib.dev.engine import Engine
from lib.dev.faults import Fault, refusal
from lib.dev.faulty import Match, call
from lib.dev.store_faults import engine_error, naming, too_many_requests
from lib.machinery.runner.store import Redis
from lib.ops.doctor import examine
from lib.ops.moves import LEFT_MS, check_moves
from lib.ops.reach import Reached, opened, writing_address
from lib.settings import Settings
from tests.harness.operator import ask_store
from tests.harness.servers import settings_of
from tests.harness.stack import (
    READ_TOKEN,
    STORE_READ_TOKEN,
    STORE_TOKEN,
    WRITE_TOKEN,
    Stack,
    running_stack,
)

type Names = dict[str, str]

SAME: Names = {}
PREVIEW = {"VERCEL_ENV": "preview", "KV_REST_API_TOKEN": "", "BACKEND_WRITE_TOKEN": ""}


def reached(env: Names) -> Reached:
    found = settings_of({name: value for name, value in env.items() if value})
    if isinstance(found, Settings):
        return Reached(settings=found)
    return Reached(settings=found.settings, faults=found.faults)


async def seen(stack: Stack, env: Names = SAME, *, accepted: tuple[str, ...] = ()) -> Names:
    answer = await examine(reached(stack.env(**env)), accepted)
    statuses = {each["check"]: each["status"] for each in answer.data["checks"]}
    assert answer.needs_attention == bool(ill(statuses))
    return statuses


def ill(statuses: Names) -> Names:
    return {name: each for name, each in statuses.items() if each in {"attention", "failed"}}


async def test_nothing_is_found_on_healthy_parts_and_nothing_is_left_behind(stack: Stack) -> None:
    statuses = await seen(stack, accepted=("store_round_trip",))

    assert ill(statuses) == {}
    assert "skipped" not in statuses.values()
    assert ask_store(stack, "DBSIZE") == 0
    assert stack.items.effects().created == 0


async def test_a_preview_with_the_least_power_is_well_and_a_write_was_tried(stack: Stack) -> None:
    statuses = await seen(stack, PREVIEW, accepted=("store_round_trip",))

    assert ill(statuses) == {}
    assert statuses["store_read_only"] == statuses["backend_wall"] == "ok"
    assert statuses["store_write"] == statuses["backend_write"] == "skipped"
    tried = [each for each in stack.front.exchanges if each.commands == ("SET",)]
    assert [each.status for each in tried] == [400]


async def test_a_previews_scratch_systems_are_tried_like_any_others(
    stack: Stack, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with running_stack(engine, tmp_path_factory.mktemp("scratch")) as other:
        scratch = {
            "SCRATCH_BACKEND_URL": other.items_url,
            "SCRATCH_BACKEND_WRITE_TOKEN": WRITE_TOKEN,
            "SCRATCH_REDIS_REST_URL": other.store_url,
            "SCRATCH_REDIS_REST_TOKEN": STORE_TOKEN,
        }
        statuses = await seen(stack, PREVIEW | scratch, accepted=("store_round_trip",))

    assert ill(statuses) == {}
    assert statuses["store_script"] == statuses["backend_write"] == "ok"


@pytest.mark.parametrize(
    ("env", "check"),
    [
        ({"KV_REST_API_TOKEN": STORE_READ_TOKEN}, "store_write"),
        ({"KV_REST_API_TOKEN": "unknown"}, "store"),
        ({"KV_REST_API_READ_ONLY_TOKEN": STORE_TOKEN}, "store_read_only"),
        ({"KV_REST_API_READ_ONLY_TOKEN": "unknown"}, "store_read_only"),
        ({**PREVIEW, "KV_REST_API_READ_ONLY_TOKEN": STORE_TOKEN}, "store_read_only"),
        ({**PREVIEW, "KV_REST_API_TOKEN": STORE_TOKEN}, "settings"),
        ({"KV_REST_API_URL": "http://127.0.0.1:1"}, "store"),
        ({"BACKEND_URL": "http://127.0.0.1:1"}, "backend_read"),
        ({"BACKEND_READ_TOKEN": "unknown"}, "backend_read"),
        ({"BACKEND_READ_TOKEN": WRITE_TOKEN}, "backend_wall"),
        ({"BACKEND_WRITE_TOKEN": READ_TOKEN}, "backend_write"),
        ({"STATE_KEY": ""}, "settings"),
        ({"CRON_SECRET": ""}, "sweeper"),
        ({"MAX_DURATION_S": "80000"}, "settings"),
    ],
)
async def test_an_environment_is_ill_where_it_is(stack: Stack, env: Names, check: str) -> None:
    expected = "attention" if check == "sweeper" else "failed"
    assert (await seen(stack, env))[check] == expected
    assert stack.items.effects().created == 0


@pytest.mark.parametrize(
    ("fault", "on", "check"),
    [
        (engine_error("ERR unknown command"), naming("EVAL"), "store_script"),
        (engine_error("NOPERM not this one"), naming("INFO"), "store_eviction"),
        (engine_error("ERR max requests limit exceeded"), naming("SET"), "store_write"),
        (engine_error("ERR not found"), call("POST", "/pipeline"), "store_pipeline"),
        (too_many_requests(), naming("PING"), "store"),
    ],
)
async def test_a_store_is_ill_where_it_is(
    stack: Stack, fault: Fault, on: Match, check: str
) -> None:
    stack.store_faults.plan(fault, on=on, count=None)

    expected = "attention" if check == "store_eviction" else "failed"
    assert (await seen(stack))[check] == expected


class Rearming:
    """A real store that arms a record's TTL anew whenever it is touched."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def execute(self, command: list[Any]) -> Any:
        if command[0] == "EVAL":
            await self._redis.execute(["PEXPIRE", command[3], LEFT_MS])
        return await self._redis.execute(command)

    def pipeline(self) -> Any:
        return self._redis.pipeline()


async def test_a_store_whose_records_never_grow_old_is_ill(stack: Stack) -> None:
    here = reached(stack.env())
    async with opened(here, writing_address(here)) as store:
        found = await check_moves(replace(store, redis=Rearming(store.redis)))

    assert [each.check for each in found if each.status == "failed"] == ["store_pttl"]


@pytest.mark.parametrize("fault", [refusal(404, "not_found"), refusal(503, "unavailable")])
async def test_an_answer_that_shows_nothing_of_the_wall_is_not_taken_for_one(
    stack: Stack, fault: Fault
) -> None:
    stack.items.faults.plan(fault, on=call("POST", "/items"), count=None)

    found = ill(await seen(stack, accepted=("store_round_trip",)))

    assert found == {"backend_wall": "attention", "backend_write": "attention"}


@contextmanager
def evicting(engine: Engine, policy: str, limit: str) -> Generator[None]:
    def configure(policy: str, limit: str) -> None:
        with socket.socket(socket.AF_UNIX) as wire:
            wire.connect(str(engine.socket_path))
            said = f"CONFIG SET maxmemory-policy {policy} maxmemory {limit}\r\n"
            wire.sendall(said.encode())
            assert wire.recv(64) == b"+OK\r\n"

    configure(policy, limit)
    try:
        yield
    finally:
        configure("noeviction", "0")


@pytest.mark.parametrize(
    ("policy", "limit", "status"),
    [
        ("volatile-ttl", "100mb", "failed"),
        ("allkeys-random", "100mb", "failed"),
        ("noeviction", "100mb", "ok"),
        ("volatile-ttl", "0", "ok"),
    ],
)
async def test_a_store_that_may_evict_records_is_ill_and_nobody_can_accept_it(
    stack: Stack, engine: Engine, policy: str, limit: str, status: str
) -> None:
    with evicting(engine, policy, limit):
        statuses = await seen(stack, accepted=("store_eviction",))

    assert statuses["store_eviction"] == status
