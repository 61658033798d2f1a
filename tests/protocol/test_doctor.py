"""The doctor's checks, each on a part that is really ill in that way."""

import socket
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from lib.dev.engine import Engine
from lib.dev.faults import Fault, ResetBefore, refusal
from lib.dev.faulty import Match, call
from lib.dev.store_faults import engine_error, naming, too_many_requests
from lib.ops.doctor import examine
from lib.ops.reach import Reached
from lib.settings import Misconfigured, Settings
from tests.harness.operator import ask_store
from tests.harness.servers import settings_of
from tests.harness.stack import READ_TOKEN, STORE_READ_TOKEN, STORE_TOKEN, WRITE_TOKEN, Stack

PREVIEW = {"VERCEL_ENV": "preview", "KV_REST_API_TOKEN": "", "BACKEND_WRITE_TOKEN": ""}


def reached(env: dict[str, str]) -> Reached:
    found = settings_of({name: value for name, value in env.items() if value})
    if isinstance(found, Misconfigured):
        assert isinstance(found.platform, Settings)
        return Reached(settings=found.platform, faults=found.faults)
    return Reached(settings=found)


async def seen(
    stack: Stack, env: dict[str, str] | None = None, *, accepted: tuple[str, ...] = ()
) -> dict[str, str]:
    """Give each check's worst status."""
    answer = await examine(reached(stack.env(**(env or {}))), accepted)
    statuses = {each["check"]: each["status"] for each in answer.data["checks"]}
    is_bad = bool({"attention", "failed"} & set(statuses.values()))
    assert answer.needs_attention == is_bad
    return statuses


def ill(statuses: dict[str, str]) -> dict[str, str]:
    return {name: each for name, each in statuses.items() if each in {"attention", "failed"}}


async def test_nothing_is_found_on_healthy_parts_and_nothing_is_left_behind(stack: Stack) -> None:
    statuses = await seen(stack, accepted=("store_round_trip",))

    assert ill(statuses) == {}
    assert {name for name, each in statuses.items() if each == "skipped"} == set()
    assert ask_store(stack, "DBSIZE") == 0
    assert stack.items.effects().created == 0


async def test_a_preview_with_the_least_power_is_well_and_a_write_was_tried(stack: Stack) -> None:
    statuses = await seen(stack, PREVIEW, accepted=("store_round_trip", "store_eviction"))

    assert ill(statuses) == {}
    assert statuses["store_read_only"] == statuses["backend_wall"] == "ok"
    assert statuses["store_write"] == statuses["backend_write"] == "skipped"
    tried = [each for each in stack.front.exchanges if each.commands == ("SET",)]
    assert [each.status for each in tried] == [400]


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
        ({"BACKEND_WRITE_TOKEN": "unknown"}, "backend_write"),
        ({"STATE_KEY": ""}, "settings"),
        ({"CRON_SECRET": ""}, "sweeper"),
        ({"MAX_DURATION_S": "80000"}, "settings"),
    ],
)
async def test_an_environment_is_ill_where_it_is(
    stack: Stack, env: dict[str, str], check: str
) -> None:
    assert check in ill(await seen(stack, env))
    assert stack.items.effects().created == 0


@pytest.mark.parametrize(
    ("fault", "on", "check"),
    [
        (engine_error("ERR unknown command"), naming("EVAL"), "store_script"),
        (engine_error("NOPERM not this one"), naming("INFO"), "store_eviction"),
        (engine_error("ERR max requests limit exceeded"), naming("SET"), "store_write"),
        (engine_error("ERR not found"), call("POST", "/pipeline"), "store_pipeline"),
        (too_many_requests(), naming("PING"), "store"),
        (ResetBefore(), naming("PING"), "store"),
    ],
)
async def test_a_store_is_ill_where_it_is(
    stack: Stack, fault: Fault, on: Match, check: str
) -> None:
    stack.store_faults.plan(fault, on=on, count=None)

    assert check in ill(await seen(stack))


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
