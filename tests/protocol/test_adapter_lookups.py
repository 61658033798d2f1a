"""Whatever a look-up ends in, `never` is said only of what the backend shows to be something else.

Source: PROTOCOL §5 (lookup: two found, or one with another fingerprint), §8.
"""

from datetime import timedelta
from typing import Any

import pytest

from lib.contract import BackendSilentError, Found, Lookup, RefusedError
from tests.harness.adapters import Asked, Does, Done, command, giving, raising
from tests.harness.seeds import LOOKUP, seeds_of
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

ONE = Found(arguments=Asked(), result=Done())
OTHER = Found(arguments=Asked(name="desk"), result=Done())
UNCLEAR: dict[str, tuple[Does, str]] = {
    "a refusal that has our word": (raising(RefusedError("conflict", "Busy.")), "conflict"),
    "a silence that has our word": (raising(BackendSilentError("conflict")), "conflict"),
    "no list": (giving(None), "no_evidence"),
    "a thing without a list": (giving(ONE), "no_evidence"),
    "a text": (giving("ab"), "no_evidence"),
    "a dictionary": (giving({"1": ONE}), "no_evidence"),
    "a list of nothing": (giving([None]), "no_evidence"),
}
SHOWN: dict[str, Does] = {
    "another": giving([OTHER]),
    "two": giving([ONE, ONE]),
    "one and another": giving([ONE, OTHER]),
}


async def asked(stack: Stack, ask: Does) -> dict[str, Any]:
    """Call a command whose attempt of before died, and tell what the look-up led to."""
    lookup = Lookup(settle_time=timedelta(milliseconds=100))
    tool = command(giving(Done()), backend=lookup, ask=ask)
    app = in_process(stack.env(), tools=[tool])
    async with seeds_of(stack) as seeds, client_of(app) as http:
        await seeds.begun("k", LOOKUP, arguments=Asked(), tool=tool.name)
        said = await Mcp(http=http).settle("send_thing", idempotency_key="k")
        known = await Mcp(http=http).settle("get_operation", idempotency_key="k")
    assert (said["outcome"], said["side_effect"]) == ("in_doubt", "unknown")
    assert known["retry"]["advice"] == said["retry"]["advice"]
    return said


@pytest.mark.parametrize("what", UNCLEAR)
async def test_an_unclear_lookup_is_asked_again(shared_stack: Stack, what: str) -> None:
    ask, code = UNCLEAR[what]
    said = await asked(shared_stack, ask)
    assert (said["retry"]["advice"], said["error"]["code"]) == ("same_key", code)


@pytest.mark.parametrize("what", SHOWN)
async def test_what_is_shown_to_be_something_else_needs_a_person(
    shared_stack: Stack, what: str
) -> None:
    said = await asked(shared_stack, SHOWN[what])
    assert (said["retry"]["advice"], said["error"]["code"]) == ("never", "conflict")
