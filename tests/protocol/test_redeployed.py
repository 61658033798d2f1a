"""A deployment that declares another class than a record has: what both promise is what holds.

Source: PROTOCOL §3 (the record's class decides), §5, §8 (find out, or a person).
"""

from datetime import timedelta
from typing import Any

import anyio
import pytest

from lib.contract import (
    BackendClass,
    BackendSilentError,
    Call,
    Keyed,
    Lookup,
    Unaskable,
    Unique,
)
from tests.harness.adapters import Asked, command, giving
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

DAY, HOUR, SOON = timedelta(days=1), timedelta(hours=1), timedelta(milliseconds=10)
KEYED, UNIQUE, NONE = Keyed(window=DAY, sticky=False), Unique(), Unaskable()
KEYED_ASK = Keyed(window=DAY, sticky=False, lookup=SOON)
LOOKUP = Lookup(settle_time=SOON)

# First declared, declared now, whether it is sent again, and what a retry is told.
CHANGED: dict[str, tuple[BackendClass, BackendClass, bool, str]] = {
    "keyed, then none": (KEYED, NONE, False, "never"),
    "unique, then none": (UNIQUE, NONE, False, "never"),
    "lookup, then none": (LOOKUP, NONE, False, "never"),
    "asked and keyed, then none": (KEYED_ASK, NONE, False, "never"),
    "keyed, then lookup": (KEYED, LOOKUP, False, "never"),
    "lookup, then keyed": (LOOKUP, KEYED, False, "never"),
    "none, then keyed": (NONE, KEYED, False, "never"),
    "none, then lookup": (NONE, LOOKUP, False, "never"),
    "keyed, then unique": (KEYED, UNIQUE, False, "never"),
    "unique, then keyed": (UNIQUE, KEYED, False, "never"),
    "asked and keyed, then keyed": (KEYED_ASK, KEYED, True, "same_key"),
    "keyed, then asked and keyed": (KEYED, KEYED_ASK, True, "same_key"),
    "keyed, then for an hour only": (KEYED, Keyed(window=HOUR, sticky=False), True, "same_key"),
}


class Deployments:
    """One tool as each deployment declares it; every send stays without an answer."""

    def __init__(self, stack: Stack) -> None:
        self.stack, self.sends = stack, 0

    async def silent(self, _: Asked, __: Call) -> Any:
        """Send, and hear nothing."""
        self.sends += 1
        raise BackendSilentError("timeout", after_ms=0)  # so that no attempt sends twice

    async def settle(self, backend: BackendClass) -> dict[str, Any]:
        """Call the tool, and check that get_operation advises the same."""
        can_ask = isinstance(backend, Lookup) or (isinstance(backend, Keyed) and backend.lookup)
        ask = giving([]) if can_ask else None
        app = in_process(self.stack.env(), tools=[command(self.silent, backend=backend, ask=ask)])
        async with client_of(app) as http:
            said = await Mcp(http=http).settle("send_thing", idempotency_key="k")
            known = await Mcp(http=http).settle("get_operation", idempotency_key="k")
        assert said["outcome"] == known["outcome"] == "in_doubt"
        assert known["retry"]["advice"] == said["retry"]["advice"]
        await anyio.sleep(0.02)  # past the horizon of what may be asked
        return said


@pytest.mark.parametrize("what", CHANGED)
async def test_it_sends_again_and_finds_out_only_what_both_promise(
    shared_stack: Stack, what: str
) -> None:
    before, now, is_sent, advice = CHANGED[what]
    deployments = Deployments(shared_stack)
    await deployments.settle(before)
    for _ in "12":
        said = await deployments.settle(now)
        assert (said["this_call"] == "executed", said["retry"]["advice"]) == (is_sent, advice)
    assert deployments.sends == (3 if is_sent else 1)


async def test_a_deployment_that_is_taken_back_takes_no_record_with_it(shared_stack: Stack) -> None:
    deployments = Deployments(shared_stack)
    for backend in (KEYED, NONE, KEYED):
        said = await deployments.settle(backend)
    assert (said["this_call"], said["retry"]["advice"]) == ("executed", "same_key")
    assert deployments.sends == 2


async def test_what_a_weaker_deployment_sent_no_stronger_one_sends_again(
    shared_stack: Stack,
) -> None:
    deployments = Deployments(shared_stack)
    await deployments.settle(KEYED_ASK)
    said = await deployments.settle(LOOKUP)  # asked, absent past the horizon: sent without the key
    assert (said["this_call"], deployments.sends) == ("executed", 2)
    tool = command(deployments.silent, backend=KEYED_ASK, ask=giving(None))
    async with client_of(in_process(shared_stack.env(), tools=[tool])) as http:
        await Mcp(http=http).settle("send_thing", idempotency_key="k")
    assert deployments.sends == 2


async def test_what_is_sent_under_a_longer_settle_time_is_waited_for_that_long(
    shared_stack: Stack,
) -> None:
    deployments = Deployments(shared_stack)
    await deployments.settle(LOOKUP)
    told = [await deployments.settle(Lookup(settle_time=HOUR)) for _ in "123"]
    assert deployments.sends == 2
    assert all(said["retry"]["after_ms"] > 3_500_000 for said in told)


async def test_of_a_tool_that_is_gone_nothing_can_be_found_out(shared_stack: Stack) -> None:
    deployments = Deployments(shared_stack)
    await deployments.settle(KEYED)
    async with client_of(in_process(shared_stack.env(), tools=[])) as http:
        known = await Mcp(http=http).settle("get_operation", idempotency_key="k")
    assert (known["outcome"], known["retry"]["advice"]) == ("in_doubt", "never")
