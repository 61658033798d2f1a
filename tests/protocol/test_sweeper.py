"""`GET /api/cron/reconcile` over real records: what it may take, what it settles, what it says.

Source: PROTOCOL §9 (batches, re-scoring, counts), DESIGN §2 (the secret).
"""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest

from lib.dev.faults import AnswerLost, Held, ResetBefore
from lib.dev.faulty import call
from lib.dev.store_faults import naming
from tests.harness.kinds import between, named, new_item
from tests.harness.lossy import every_class_in_process
from tests.harness.seeds import LOOKUP, UNASKABLE, now_ms, seeds_of
from tests.harness.servers import client_of
from tests.harness.stack import CRON_SECRET, Stack

AMPLE = {"MAX_DURATION_S": "20", "BACKEND_TIMEOUT_S": "5"}
PATH = "/api/cron/reconcile"


async def sweep(http: httpx.AsyncClient) -> dict[str, Any]:
    answer = await http.get(PATH, headers={"Authorization": f"Bearer {CRON_SECRET}"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def client(stack: Stack, **env: str) -> httpx.AsyncClient:
    return client_of(every_class_in_process(stack, **{**AMPLE, **env}))


def counts(looked: int, settled: int, in_doubt: int, left: int = 0) -> dict[str, int]:
    return {"looked": looked, "settled": settled, "in_doubt": in_doubt, "left": left}


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong-secret-0123456"}, {"Authorization": CRON_SECRET}],
)
async def test_the_sweeper_is_refused_without_its_secret(
    stack: Stack, headers: dict[str, str]
) -> None:
    async with client(stack) as http:
        answer = await http.get(PATH, headers=headers)
    assert (answer.status_code, stack.front.exchanges) == (401, [])


async def test_the_sweeper_is_off_where_no_secret_is_set(stack: Stack) -> None:
    async with client(stack, CRON_SECRET="") as http:
        answer = await http.get(PATH, headers={"Authorization": "Bearer "})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "cron_secret_missing")


async def test_it_settles_what_can_be_proved_and_counts_the_rest(stack: Stack) -> None:
    item_id = new_item(stack)
    async with seeds_of(stack) as seeds, client(stack) as http:
        await seeds.begun("running", LOOKUP, lease_ms=60_000)
        await seeds.begun("unaskable", UNASKABLE, tool="send_notice")
        await seeds.changed("found", item_id)
        await seeds.begun("absent", LOOKUP)
        await seeds.begun("gone tool", LOOKUP, tool="remove_tool")
        await asyncio.sleep(0.12)  # past the horizon of what is absent
        assert await sweep(http) == counts(looked=4, settled=2, in_doubt=2)
        found = await seeds.record("found")
        assert found is not None
        assert (found.state, found.epoch, found.conflicts) == ("committed", 2, 0)
        assert await seeds.record("absent") is None
        still = {key: await seeds.record(key) for key in ("running", "unaskable", "gone tool")}
        states = {key: record and record.state for key, record in still.items()}
        assert states == {"running": "started", "unaskable": "in_doubt", "gone tool": "in_doubt"}
        assert set(await seeds.open()) == {named(key).id for key in still}
        assert await sweep(http) == counts(looked=2, settled=0, in_doubt=2)
    methods = [each.method for each in stack.items.faults.seen]
    assert methods == ["POST", "PATCH", "GET", "GET"]  # the first two set the scene


async def test_what_is_absent_before_its_horizon_stays_in_doubt(stack: Stack) -> None:
    slow = replace(LOOKUP, settle_ms=60_000)
    async with seeds_of(stack) as seeds, client(stack) as http:
        await seeds.begun("early", slow)
        assert await sweep(http) == counts(looked=1, settled=0, in_doubt=1)
        assert await sweep(http) == counts(looked=1, settled=0, in_doubt=1)
        record = await seeds.record("early")
        assert record is not None
        # Asking moves no horizon: what is left of it only shrinks.
        assert (record.state, record.horizon_ms < 60_000) == ("in_doubt", True)


async def test_it_takes_fifty_oldest_first_and_old_doubts_do_not_fill_every_batch(
    stack: Stack,
) -> None:
    keys = [f"doubt {number:02}" for number in range(60)]
    async with seeds_of(stack) as seeds, client(stack) as http:
        for key in keys:
            await seeds.begun(key, UNASKABLE, tool="send_notice")
        assert await sweep(http) == counts(looked=50, settled=0, in_doubt=50, left=10)
        states = [record and record.state for key in keys if (record := await seeds.record(key))]
        assert states == ["in_doubt"] * 50 + ["started"] * 10
        assert (await seeds.open())[:10] == [named(key).id for key in keys[50:]]
        assert await sweep(http) == counts(looked=50, settled=0, in_doubt=50, left=10)
        states = [record and record.state for key in keys if (record := await seeds.record(key))]
        assert states == ["in_doubt"] * 60
        assert (await seeds.open())[:10] == [named(key).id for key in keys[40:50]]


async def test_each_record_costs_a_sweep_a_look_and_the_moves_that_it_needs(stack: Stack) -> None:
    item_id = new_item(stack)
    costs: dict[str, list[int]] = {}
    async with seeds_of(stack) as seeds, client(stack) as http:

        async def cost(of: str) -> None:
            before = len(stack.front.exchanges)
            swept = await sweep(http)
            assert swept["looked"] == (of != "nothing")
            costs[of] = [each.billed for each in stack.front.exchanges[before:]]

        await cost("nothing")
        await seeds.begun("running", LOOKUP, lease_ms=60_000)
        await seeds.make_due(named("running").id)
        await cost("running")
        await seeds.changed("found", item_id)
        await cost("found")
        await seeds.make_due(named("found").id)
        await cost("settled before")
        await seeds.begun("absent", LOOKUP)
        await asyncio.sleep(0.12)  # past its horizon
        await cost("absent")
        await seeds.make_due(named("absent").id)
        await cost("without a record")
        await seeds.begun("unaskable", UNASKABLE, tool="send_notice")
        await cost("dead")
        await cost("in doubt before")
    due, look, swap = 2, 3, 4
    assert costs == {
        "nothing": [due],
        "running": [due, look, 1],
        "found": [due, look, swap, swap],
        "settled before": [due, look, 3],
        "absent": [due, look, swap, swap],
        "without a record": [due, look, 3],
        "dead": [due, look, swap],
        "in doubt before": [due, look, 1],
    }


@pytest.mark.parametrize("fault", [AnswerLost(), ResetBefore()], ids=["executed", "lost"])
async def test_what_was_settled_counts_though_the_index_stayed_silent(
    stack: Stack, fault: AnswerLost | ResetBefore
) -> None:
    item_id = new_item(stack)
    async with seeds_of(stack) as seeds, client(stack) as http:
        await seeds.changed("found", item_id)
        await sweep(http)
        await seeds.begun("unaskable", UNASKABLE, tool="send_notice")
        await sweep(http)
        for key in ("found", "unaskable"):
            await seeds.make_due(named(key).id)
        stack.store_faults.plan(fault, on=between("found", 1, None), count=None)
        stack.store_faults.plan(fault, on=naming("ZADD"))
        assert await sweep(http) == counts(looked=2, settled=1, in_doubt=1)


async def test_a_live_lease_is_never_taken_even_where_the_index_calls_it_due(
    stack: Stack,
) -> None:
    async with seeds_of(stack) as seeds, client(stack) as http:
        record = await seeds.begun("running", LOOKUP, lease_ms=60_000)
        await seeds.make_due(named("running").id)
        assert await sweep(http) == counts(looked=1, settled=0, in_doubt=0)
        assert await seeds.record("running") == record
        due_ms = await seeds.due_ms("running")
        assert due_ms is not None
        assert due_ms > now_ms() + 50_000
        assert await sweep(http) == counts(looked=0, settled=0, in_doubt=0)


async def test_members_without_a_record_or_without_doubt_are_taken_off(stack: Stack) -> None:
    item_id = new_item(stack)
    async with seeds_of(stack) as seeds, client(stack) as http:
        await seeds.changed("settled", item_id)
        await sweep(http)
        await seeds.make_due(named("settled").id)
        await seeds.make_due(named("never there").id)
        assert await sweep(http) == counts(looked=2, settled=1, in_doubt=0)
        assert await seeds.open() == []


async def test_a_record_that_cannot_be_read_is_left_and_counted(stack: Stack) -> None:
    async with seeds_of(stack) as seeds, client(stack) as http:
        name = named("newer")
        await seeds.redis.set(f"settle:1:{name.id}", '{"v":2}', px=60_000)
        await seeds.make_due(name.id)
        assert await sweep(http) == counts(looked=1, settled=0, in_doubt=1)
        assert await seeds.redis.get(f"settle:1:{name.id}") == '{"v":2}'
        assert await seeds.open() == [name.id]


async def test_two_sweeps_at_once_take_each_record_once(stack: Stack) -> None:
    keys = [f"change {number}" for number in range(8)]
    item_id = new_item(stack)
    stack.items.faults.plan(Held("before", 0.05), on=call("GET", "/operations"), count=None)
    async with seeds_of(stack) as seeds, client(stack) as one, client(stack) as two:
        for key in keys:
            await seeds.changed(key, item_id)
        await asyncio.gather(sweep(one), sweep(two))
        records = [await seeds.record(key) for key in keys]
    assert [(each.state, each.epoch, each.conflicts) for each in records if each] == [
        ("committed", 2, 0)
    ] * len(keys)
    asked = [each.path for each in stack.items.faults.seen if each.method == "GET"]
    assert len(asked) == len(set(asked)) == len(keys)


async def test_a_settlement_that_the_store_did_not_take_is_not_counted_as_one(
    stack: Stack,
) -> None:
    item_id = new_item(stack)
    async with seeds_of(stack) as seeds, client(stack) as http:
        await seeds.changed("found", item_id)
        stack.store_faults.plan(ResetBefore(), on=between("found", 2, 3), count=None)
        assert await sweep(http) == counts(looked=1, settled=0, in_doubt=1)
        record = await seeds.record("found")
        assert record is not None
        assert (record.state, await seeds.open()) == ("started", [named("found").id])


async def test_where_the_settings_leave_no_room_it_looks_at_one_each_time(stack: Stack) -> None:
    tight = {"MAX_DURATION_S": "4", "BACKEND_TIMEOUT_S": "3", "COMMIT_BUDGET_S": "1"}
    async with seeds_of(stack) as seeds, client(stack, **tight) as http:
        for key in ("one", "two"):
            await seeds.begun(key, UNASKABLE, tool="send_notice")
        assert await sweep(http) == counts(looked=1, settled=0, in_doubt=1, left=1)
        assert await sweep(http) == counts(looked=1, settled=0, in_doubt=1, left=1)
        records = [await seeds.record(key) for key in ("one", "two")]
    assert [each.state for each in records if each] == ["in_doubt"] * 2


async def test_a_silent_store_is_said_and_nothing_is_asked(stack: Stack) -> None:
    stack.store_faults.plan(AnswerLost(), on=naming("ZRANGE"))
    async with client(stack) as http:
        answer = await http.get(PATH, headers={"Authorization": f"Bearer {CRON_SECRET}"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unavailable")
    assert stack.items.faults.seen == ()
