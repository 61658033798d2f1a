"""The optional limit per principal: one round trip, shared by instances, open for queries only."""

from lib.dev.faults import bad_gateway
from tests.harness.audit import audit_lines
from tests.harness.servers import client_of, in_process
from tests.harness.stack import OTHER_KEY, READ_KEY, Stack
from tests.harness.wire import Mcp

LAMP = {"name": "lamp", "quantity": 1}


def limited(stack: Stack, per_minute: int, **more: str) -> dict[str, str]:
    return stack.env(RATE_LIMIT_PER_MINUTE=str(per_minute), **more)


async def test_it_costs_nothing_while_it_is_off_and_one_round_trip_while_on(stack: Stack) -> None:
    counts: list[int] = []
    for env in (stack.env(), limited(stack, 100)):
        async with client_of(in_process(env)) as http:
            mcp = Mcp(http=http)
            for name, sent in (
                ("list_items", {}),
                ("create_item", {**LAMP, "idempotency_key": "k"}),
            ):
                before = len(stack.front.exchanges)
                await mcp.call(name, **sent)
                counts.append(len(stack.front.exchanges) - before)
            before = len(stack.front.exchanges)
            await mcp.send("tools/list")
            assert len(stack.front.exchanges) == before
    assert counts == [0, 2, 1, 2]  # the second create_item is a replay: one, and one for the limit


async def test_beyond_it_nothing_is_done_and_the_wait_is_told(stack: Stack) -> None:
    async with client_of(in_process(limited(stack, 2))) as http:
        mcp = Mcp(http=http)
        for key in ("1", "2"):
            assert (await mcp.settle("create_item", **LAMP, idempotency_key=key))["result"]
        with audit_lines() as lines:
            command = await mcp.call("create_item", **LAMP, idempotency_key="1")
            query = await mcp.call("list_items")
            other = await Mcp(http=http, key=OTHER_KEY).call("list_items")
    said = command["structuredContent"]
    assert (said["outcome"], said["side_effect"]) == ("not_executed", "unknown")
    assert (said["this_call"], said["error"]["code"]) == ("not_executed", "rate_limited")
    assert said["operation_id"] is not None
    assert said["retry"]["advice"] == "same_key"
    after_ms = said["retry"]["after_ms"]
    assert 0 < after_ms <= 60_000
    assert command["content"][0]["text"].startswith("Nothing was sent by this call;")
    assert query["isError"] is True
    assert query["content"][0]["text"].startswith("Too many calls. Try again after ")
    assert other["isError"] is False
    assert [(line["decision"], line["reason"]) for line in lines] == [
        ("refuse", "rate_limited"),
        ("refuse", "rate_limited"),
        ("allow", None),
    ]
    assert stack.items.effects().created == 2


async def test_two_instances_count_together(stack: Stack) -> None:
    outcomes: list[bool] = []
    for _ in range(2):
        async with client_of(in_process(limited(stack, 3))) as http:
            mcp = Mcp(http=http, key=READ_KEY)
            outcomes += [(await mcp.call("list_toolsets"))["isError"] for _ in range(2)]
    assert outcomes == [False, False, False, True]


async def test_a_silent_store_opens_queries_and_closes_commands(stack: Stack) -> None:
    async with client_of(in_process(limited(stack, 100))) as http:
        mcp = Mcp(http=http)
        stack.store_faults.plan(bad_gateway("before"), count=None)
        query = await mcp.call("list_items")
        command = await mcp.call("create_item", **LAMP, idempotency_key="k")
        stack.store_faults.clear()
        later = await mcp.settle("create_item", **LAMP, idempotency_key="k")
    assert query["isError"] is False
    said = command["structuredContent"]
    assert (said["outcome"], said["side_effect"]) == ("store_unavailable", "unknown")
    assert said["retry"] == {"advice": "same_key", "after_ms": 2000}
    assert later["outcome"] == "succeeded"
    assert stack.items.effects().created == 1


async def test_a_refused_call_is_not_counted(stack: Stack) -> None:
    async with client_of(in_process(limited(stack, 1))) as http:
        mcp = Mcp(http=http, key=READ_KEY)
        for _ in range(3):
            await mcp.send("tools/call", name="create_item", arguments={})
            await mcp.send("tools/call", name="no_such_tool", arguments={})
            await Mcp(http=http, key="nobody").send("tools/list")
        assert stack.front.exchanges == []
        assert (await mcp.call("list_items"))["isError"] is False


async def test_a_preview_without_scratch_has_nowhere_to_count(stack: Stack) -> None:
    env = limited(stack, 1, VERCEL_ENV="preview")
    del env["BACKEND_WRITE_TOKEN"], env["KV_REST_API_TOKEN"]
    async with client_of(in_process(env)) as http:
        mcp = Mcp(http=http)
        assert [(await mcp.call("list_items"))["isError"] for _ in range(3)] == [False] * 3
    assert stack.front.exchanges == []
