"""The built bundle in the real runtime: both eras, deadlines, many at once, kills, faults."""

import asyncio
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from lib.dev.faults import Held
from lib.dev.faulty import call
from tests.harness.bundle import Instance, booted
from tests.harness.stack import READ_KEY, SHORT, Stack
from tests.harness.wire import LEGACY, MODERN, Mcp

pytestmark = pytest.mark.node
HOST = "settle.vercel.app"
DEADLINE = "x-vercel-internal-deadline"
NEW = {"name": "lamp", "quantity": 1}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder with a path short enough for a socket."""
    with TemporaryDirectory() as short:
        yield Path(short)


def env(stack: Stack, **more: str) -> dict[str, str]:
    return stack.env(VERCEL="1", VERCEL_URL=HOST, MAX_DURATION_S="20", **more)


def client(instance: Instance, **headers: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=instance.url, headers={"Host": HOST, **headers}, timeout=30)


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


@pytest.mark.parametrize("era", [MODERN, LEGACY])
async def test_the_bundle_answers_both_eras_under_its_vercel_name(
    bundle: Path, stack: Stack, folder: Path, era: str
) -> None:
    with booted(bundle, env(stack), folder) as instance:
        async with client(instance) as http:
            done = await Mcp(http=http, era=era).settle("create_item", **NEW, idempotency_key="k")
    assert (done["outcome"], stack.items.effects().created) == ("succeeded", 1)


async def test_too_little_time_starts_nothing_and_enough_finishes(
    bundle: Path, stack: Stack, folder: Path
) -> None:
    with booted(bundle, env(stack), folder) as instance:
        async with client(instance) as http:
            await Mcp(http=http).result("tools/list")
            http.headers[DEADLINE] = in_seconds(1.5)
            late = await Mcp(http=http).settle("create_item", **NEW, idempotency_key="k")
            http.headers[DEADLINE] = in_seconds(10)
            done = await Mcp(http=http).settle("create_item", **NEW, idempotency_key="k")
    assert (late["outcome"], late["error"]["code"]) == ("not_executed", "no_time")
    assert (done["outcome"], stack.items.effects().created) == ("succeeded", 1)


async def test_twenty_calls_at_once_share_one_instance(
    bundle: Path, stack: Stack, folder: Path
) -> None:
    with booted(bundle, env(stack), folder) as instance:
        async with client(instance) as http:
            mcp = Mcp(http=http)
            await mcp.result("tools/list")
            calls = [mcp.settle("create_item", **NEW, idempotency_key=str(n)) for n in range(20)]
            done = await asyncio.gather(*calls)
    assert {each["outcome"] for each in done} == {"succeeded"}
    assert stack.items.effects().created == 20


async def test_a_command_is_finished_when_the_instance_is_told_to_stop(
    bundle: Path, stack: Stack, folder: Path
) -> None:
    stack.items.faults.plan(Held("after", 1.0), on=call("POST", "/items"), count=1)
    with booted(bundle, env(stack), folder) as instance:
        async with client(instance) as http:
            mcp = Mcp(http=http)
            await mcp.result("tools/list")
            running = asyncio.create_task(mcp.settle("create_item", **NEW, idempotency_key="k"))
            await asyncio.to_thread(stack.items.faults.wait_fired, 1)
            instance.popen.send_signal(signal.SIGTERM)
            done = await running
    assert (done["outcome"], stack.items.effects().created) == ("succeeded", 1)


async def test_a_second_instance_finishes_what_a_killed_one_began(
    bundle: Path, stack: Stack, folder: Path
) -> None:
    stack.items.faults.plan(Held("after", 3.0), on=call("POST", "/items"), count=1)
    short = env(stack) | SHORT
    with booted(bundle, short, folder) as first, booted(bundle, short, folder) as second:
        async with client(first) as http, client(second) as other:
            await Mcp(http=http).result("tools/list")
            await Mcp(http=other).result("tools/list")
            lost = asyncio.create_task(
                Mcp(http=http).settle("create_item", **NEW, idempotency_key="k")
            )
            await asyncio.to_thread(stack.items.faults.wait_fired, 1)
            first.popen.kill()
            with pytest.raises(httpx.TransportError):
                await lost
            retried = await settled(Mcp(http=other))
    assert first.popen.returncode == -signal.SIGKILL
    assert (retried["outcome"], retried["this_call"]) == ("succeeded", "recovered")
    assert stack.items.effects().created == 1


async def settled(mcp: Mcp) -> dict[str, object]:
    told = await mcp.settle("create_item", **NEW, idempotency_key="k")
    for _ in range(5):
        if told["retry"]["advice"] != "same_key":
            break
        await asyncio.sleep(told["retry"]["after_ms"] / 1000)
        told = await mcp.settle("create_item", **NEW, idempotency_key="k")
    return told


async def test_a_missing_name_gives_the_checklist_and_no_call(
    bundle: Path, stack: Stack, folder: Path
) -> None:
    lacking = {name: value for name, value in env(stack).items() if name != "BACKEND_URL"}
    with booted(bundle, lacking, folder) as instance:
        async with client(instance) as http:
            refused = await Mcp(http=http, key=READ_KEY).send("tools/list")
            page = await http.get("/")
            health = await http.get("/healthz")
    assert (refused.status_code, health.status_code) == (503, 200)
    assert refused.json()["error"]["faults"][0]["variable"] == "BACKEND_URL"
    assert "BACKEND_URL" in page.text
