"""A keyed command in process: what it costs, what it answers, what its retry gets."""

from lib.dev.faults import AnswerLost
from lib.dev.faulty import call
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp


async def test_a_command_costs_two_round_trips_and_seven_billed_commands(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        done = await Mcp(http=http).settle(
            "create_item", name="lamp", quantity=1, idempotency_key="k"
        )
    assert (done["outcome"], done["this_call"]) == ("succeeded", "executed")
    assert [exchange.billed for exchange in stack.front.exchanges] == [3, 4]


async def test_a_replay_costs_one_round_trip_and_gives_the_first_answer(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        mcp = Mcp(http=http)
        first = await mcp.settle("create_item", name="lamp", quantity=1, idempotency_key="k")
        before = len(stack.front.exchanges)
        again = await mcp.settle("create_item", quantity=1, name="lamp", idempotency_key="k")
    assert again == {**first, "this_call": "replayed"}
    assert [exchange.billed for exchange in stack.front.exchanges[before:]] == [3]


async def test_an_answer_lost_after_the_write_is_found_by_the_same_attempt(stack: Stack) -> None:
    stack.items.faults.plan(AnswerLost(), on=call("POST", "/items"), count=1)
    async with client_of(in_process(stack.env())) as http:
        done = await Mcp(http=http).settle(
            "create_item", name="lamp", quantity=1, idempotency_key="k"
        )
    assert (done["outcome"], stack.items.effects().created) == ("succeeded", 1)
