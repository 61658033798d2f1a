"""What a model reads beside a query's answer: words for an unknown key, and nothing else."""

import json

from pydantic import BaseModel

from lib.dev.faults import bad_gateway
from tests.harness.adapters import giving, query
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp


class Customer(BaseModel):
    """An answer with a field that `get_operation` has too."""

    known: bool = False


async def test_an_unknown_key_is_told_to_prove_nothing(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        answer = await Mcp(http=http).call("get_operation", idempotency_key="k")
    said, text = (each["text"] for each in answer["content"])
    assert said == "Nothing is known under this key. That does not prove that nothing happened."
    assert json.loads(text) == answer["structuredContent"]


async def test_a_silent_store_is_no_unknown_key(stack: Stack) -> None:
    stack.store_faults.plan(bad_gateway("before"), count=None)
    async with client_of(in_process(stack.env())) as http:
        answer = await Mcp(http=http).call("get_operation", idempotency_key="k")
    said = "The store did not answer, so nothing is known now. Try again."
    assert (answer["isError"], answer["content"][0]["text"]) == (True, said)


async def test_a_query_of_yours_that_knows_nothing_speaks_for_itself(stack: Stack) -> None:
    tool = query(giving(Customer()), result=Customer)
    async with client_of(in_process(stack.env(), tools=[tool])) as http:
        answer = await Mcp(http=http).call("get_thing")
    assert [each["text"] for each in answer["content"]] == ['{"known":false}']
