"""Nothing is sent that could not be heard of and written down in time, and every lease ends.

Source: PROTOCOL §7; powertools-lambda-python #8386 and #8387 (no remaining time known: a live
record taken for an orphan), #4759 (remaining 0 read as none).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import anyio
import httpx
import pytest

from lib.dev.faults import AnswerLost, Held
from lib.dev.wire import Request
from lib.machinery.runner.deadline import Clock
from tests.harness.kinds import KINDS, moves
from tests.harness.seams import Stopped
from tests.harness.seeds import seeds_of
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

CREATE = KINDS[0]
TIMES = {
    "MAX_DURATION_S": "20",
    "BACKEND_TIMEOUT_S": "2",
    "COMMIT_BUDGET_S": "1",
    "KILL_SLACK_S": "3",
}
NEEDED_S = 2.0  # the commit budget and a second
START_S = 1_000_000.0


@dataclass(slots=True)
class Still:
    """A clock that moves only when it is told to."""

    at_s: float = START_S

    def clock(self) -> Clock:
        return Clock(steady=lambda: self.at_s, wall=lambda: self.at_s)


def client(
    stack: Stack, still: Still, platform_end: Callable[[], float | None] = lambda: None
) -> httpx.AsyncClient:
    app = in_process(stack.env(**TIMES), clock=still.clock(), platform_end=platform_end)
    return client_of(app)


async def create(http: httpx.AsyncClient) -> dict[str, object]:
    said = await Mcp(http=http).settle("create_item", name="key", quantity=1, idempotency_key="key")
    return {name: said[name] for name in ("outcome", "side_effect")} | {
        "code": said["error"] and said["error"]["code"]
    }


@pytest.mark.parametrize("left_s", [0.0, -5.0, 0.5, NEEDED_S - 0.001])
async def test_with_too_little_time_left_nothing_is_sent_and_the_key_is_free(
    stack: Stack, left_s: float
) -> None:
    async with client(stack, Still(), lambda: START_S + left_s) as http:
        said = await create(http)
    assert said == {"outcome": "not_executed", "side_effect": "none", "code": "no_time"}
    assert stack.items.faults.seen == ()
    async with client(stack, Still()) as http:
        assert (await create(http))["outcome"] == "succeeded"
    assert CREATE.effects(stack, "key") == 1


async def test_with_just_enough_time_left_it_is_sent(stack: Stack) -> None:
    async with client(stack, Still(), lambda: START_S + NEEDED_S) as http:
        assert (await create(http))["outcome"] == "succeeded"


@pytest.mark.parametrize(
    ("end_s", "lease_ms"), [(None, 23_000), (7.0, 10_000), (0.0, 3_000), (3_600.0, 23_000)]
)
async def test_a_lease_ends_with_the_earlier_of_platform_and_setting(
    stack: Stack, end_s: float | None, lease_ms: int
) -> None:
    stop = Stopped(executes="first")
    stack.store_faults.plan(stop, on=moves("key"))
    end = None if end_s is None else START_S + end_s
    leases: list[int] = []
    async with client(stack, Still(), lambda: end) as http, seeds_of(stack) as seeds:

        async def look() -> None:
            await anyio.to_thread.run_sync(stop.reached.wait, 5)
            record = await seeds.record("key")
            assert record is not None
            leases.append(record.lease_ms)
            stop.released.set()

        async with anyio.create_task_group() as group:
            group.start_soon(look)
            await create(http)
    assert leases == [lease_ms]


async def test_a_process_frozen_past_its_lease_does_not_send(stack: Stack) -> None:
    still = Still()

    def freezes(request: Request) -> bool:
        if moves("key")(request):
            still.at_s += 60.0
        return False

    stack.store_faults.plan(AnswerLost(), on=freezes, count=None)
    async with client(stack, still) as http:
        said = await create(http)
    # Nor does it release what may have been taken over: what others did since is not known.
    assert (said["outcome"], said["side_effect"]) == ("in_doubt", "unknown")
    assert stack.items.faults.seen == ()


async def test_a_doubt_stays_one_where_no_time_is_left_to_ask(stack: Stack) -> None:
    async with client(stack, Still()) as http:
        stack.items.faults.plan(AnswerLost(), on=CREATE.is_sent("key"), count=None)
        assert (await create(http))["outcome"] == "in_doubt"
        stack.items.faults.clear()
    before = len(stack.items.faults.seen)
    async with client(stack, Still(), lambda: START_S) as http:
        said = await create(http)
    assert said == {"outcome": "in_doubt", "side_effect": "unknown", "code": "no_time"}
    assert len(stack.items.faults.seen) == before


async def test_the_backend_gets_what_the_commit_can_spare(stack: Stack) -> None:
    stack.items.faults.plan(Held("before", 4.0), on=CREATE.is_sent("key"), count=None)
    end_s = time.time() + 2.4  # noqa: TID251  what a platform says
    started = time.monotonic()
    clock = Clock(steady=time.monotonic, wall=time.time)  # noqa: TID251  as api/ does
    app = in_process(stack.env(**TIMES), clock=clock, platform_end=lambda: end_s)
    async with client_of(app) as http:
        assert (await create(http))["outcome"] in {"in_doubt", "not_executed"}
    assert time.monotonic() - started < 2.4
