"""A secret is the same in every call's JSON: a command that takes one is refused, not confused.

Source: PROTOCOL §2.
"""

from datetime import timedelta

import pytest
from pydantic import BaseModel, SecretStr

from lib.contract import Call, Command, Keyed
from lib.machinery.runner.fingerprint import IndistinctError
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


async def test_a_command_whose_calls_look_alike_is_refused_and_never_performed(
    stack: Stack, caplog: pytest.LogCaptureFixture
) -> None:
    words: list[str] = []
    async with client_of(in_process(stack.env(), tools=[lock_door(words)])) as http:
        answer = await Mcp(http=http).call("lock_door", word="one", idempotency_key="key")
    told = answer["structuredContent"]
    assert (told["outcome"], told["side_effect"]) == ("invalid", "none")
    assert answer["content"][0]["text"].endswith(IndistinctError.problem)
    assert (words, stack.front.exchanges) == ([], [])
    assert [each.getMessage() for each in caplog.records if each.name == "settle.calls"] == [
        "arguments_indistinct"
    ]
