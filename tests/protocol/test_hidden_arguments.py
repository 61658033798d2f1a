"""A secret is the same in every call's JSON: a command that takes one is refused, not confused.

Source: PROTOCOL §2.
"""

import pytest
from pydantic import BaseModel, SecretStr

from lib.contract import Call
from lib.machinery.runner.fingerprint import IndistinctError
from tests.harness.adapters import Done, command
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp


class Lock(BaseModel):
    word: SecretStr


async def test_a_command_whose_calls_look_alike_is_refused_and_never_performed(
    stack: Stack, caplog: pytest.LogCaptureFixture
) -> None:
    words: list[str] = []

    async def lock(asked: Lock, _: Call) -> Done:
        words.append(asked.word.get_secret_value())
        return Done()

    tool = command(lock, arguments=Lock)
    async with client_of(in_process(stack.env(), tools=[tool])) as http:
        answer = await Mcp(http=http).call("send_thing", word="one", idempotency_key="key")
    told = answer["structuredContent"]
    assert (told["outcome"], told["side_effect"]) == ("invalid", "none")
    assert answer["content"][0]["text"].endswith(IndistinctError.problem)
    assert (words, stack.front.exchanges) == ([], [])
    assert [each.getMessage() for each in caplog.records if each.name == "settle.calls"] == [
        "arguments_indistinct"
    ]
