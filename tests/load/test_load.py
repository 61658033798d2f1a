"""Under load: duplicates at once, and distinct commands while servers die; both bounded.

The full drill is `python -m tests.load --full`.
"""

import asyncio

from lib.dev.faults import Held
from tests.harness.kinds import KINDS
from tests.harness.nursery import Nursery
from tests.harness.stack import Stack
from tests.load.drill import drill, jobs_of
from tests.load.fleet import running_fleet

SEED = 1
DUPLICATES = 64
TRIPS = 5  # of one duplicate: its claim, and four more while it waits 2 s for its twin


async def test_64_duplicates_over_three_servers_are_one_effect_and_one_answer(
    stack: Stack, nursery: Nursery
) -> None:
    create = KINDS[0]
    asked = create.arguments("", "key") | {"idempotency_key": "key"}
    stack.items.faults.plan(Held("before", 0.5), on=create.is_sent("key"))
    async with running_fleet(nursery, stack, seed=SEED) as fleet:
        stack.front.exchanges.clear()
        told = await asyncio.gather(
            *(fleet.mcp().settle("create_item", **asked) for _ in range(DUPLICATES))
        )
        trips = len(stack.front.exchanges)
        last = await fleet.mcp().settle("create_item", **asked)
    outcomes = {each["outcome"] for each in told}
    answers = [each["result"] for each in told if each["outcome"] == "succeeded"]
    assert outcomes <= {"succeeded", "in_progress"}
    assert [answer for answer in answers if answer != last["result"]] == []
    assert [each["this_call"] for each in told].count("executed") == 1
    assert create.effects(stack, "key") == 1
    assert trips <= DUPLICATES * TRIPS + 1


async def test_commands_under_kills_are_neither_lost_nor_doubled(
    stack: Stack, nursery: Nursery
) -> None:
    jobs = jobs_of(stack, 160)
    async with running_fleet(nursery, stack, seed=SEED) as fleet:
        found = await drill(fleet, stack, jobs, kill_every_s=0.6)
    assert (found["doubled"], found["lost"], found["open"]) == ([], [], []), found
    assert found["effects"] == found["outcomes"]["succeeded"], found
    assert found["kills"] >= 2, found
    assert found["killed_calls"] > 0, found
