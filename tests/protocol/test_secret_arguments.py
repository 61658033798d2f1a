"""A secret argument is an argument: another one under the same key is another call.

Source: PROTOCOL §2; what a dump shows of a secret is the same for each.
"""

from datetime import timedelta

from pydantic import BaseModel, SecretStr

from lib.contract import Call, Command, Keyed
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp


class Lock(BaseModel):
    word: SecretStr


class Locked(BaseModel):
    times: int


def lock_door(words: list[str]) -> Command[Lock, Locked]:
    async def perform(asked: Lock, _: Call) -> Locked:
        words.append(asked.word.get_secret_value())
        return Locked(times=len(words))

    return Command(
        name="lock_door",
        toolset="doors",
        description="Lock a door.",
        arguments=Lock,
        result=Locked,
        perform=perform,
        backend=Keyed(window=timedelta(hours=1), sticky=False),
        destructive=False,
        target="the doors",
    )


async def test_another_secret_under_one_key_is_another_call(stack: Stack) -> None:
    words: list[str] = []
    async with client_of(in_process(stack.env(), tools=[lock_door(words)])) as http:
        mcp = Mcp(http=http)
        first = await mcp.settle("lock_door", word="one", idempotency_key="key")
        other = await mcp.settle("lock_door", word="two", idempotency_key="key")
        again = await mcp.settle("lock_door", word="one", idempotency_key="key")
    assert (other["outcome"], other["this_call"]) == ("key_reused", "not_executed")
    assert again == first | {"this_call": "replayed"}
    assert words == ["one"]
