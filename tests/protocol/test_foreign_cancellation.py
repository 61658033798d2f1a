"""A cancellation that is not of our own task, or a group of such, is a fault of the adapter.

It proves nothing, and ends no call, no sweep and no server. Source: PROTOCOL §1.3, §4, §7.
"""

import asyncio
from datetime import timedelta

import pytest

from lib.contract import Call, Lookup, Principal
from lib.machinery.runner.adapter import heard
from tests.harness.adapters import (
    Asked,
    Does,
    Done,
    awaiting_what_another_cancelled,
    command,
    found,
    giving,
    query,
    raising,
)
from tests.harness.audit import audit_lines
from tests.harness.kinds import named
from tests.harness.seeds import LOOKUP, seeds_of
from tests.harness.servers import client_of, in_process
from tests.harness.stack import CRON_SECRET, Stack
from tests.harness.wire import Mcp

CALL = Call(principal=Principal(issuer="i", subject="s"), timeout_s=5.0)


class OddError(BaseException):
    """What somebody derived from the wrong parent."""


STRAY: dict[str, Does] = {
    "another's cancellation": awaiting_what_another_cancelled,
    "a group": raising(BaseExceptionGroup("g", [asyncio.CancelledError()])),
    "no Exception": raising(OddError()),
}


@pytest.mark.parametrize("what", STRAY)
async def test_it_leaves_a_command_in_doubt(shared_stack: Stack, what: str) -> None:
    app = in_process(shared_stack.env(), tools=[command(STRAY[what])])
    async with client_of(app) as http:
        with audit_lines() as lines:
            said = await Mcp(http=http).settle("send_thing", idempotency_key="k")
        known = await Mcp(http=http).settle("get_operation", idempotency_key="k")
    assert (said["outcome"], said["this_call"]) == ("in_doubt", "executed")
    assert (known["outcome"], known["error"]["code"]) == ("in_doubt", "no_evidence")
    assert [line["outcome"] for line in lines] == ["in_doubt"]


@pytest.mark.parametrize("what", STRAY)
async def test_it_leaves_a_query_without_an_answer(shared_stack: Stack, what: str) -> None:
    app = in_process(shared_stack.env(), tools=[query(STRAY[what])])
    async with client_of(app) as http:
        with audit_lines() as lines:
            answer = await Mcp(http=http).call("get_thing")
    assert answer["isError"]
    assert "Nothing was changed" in answer["content"][0]["text"]
    assert [line["outcome"] for line in lines] == ["failed"]


@pytest.mark.parametrize("what", STRAY)
async def test_it_leaves_one_record_of_a_sweep_in_doubt(shared_stack: Stack, what: str) -> None:
    async def ask(call: Call) -> object:
        is_odd = call.reference == named("odd").reference
        return await (STRAY[what] if is_odd else found(Done()))(call)

    lookup = Lookup(settle_time=timedelta(milliseconds=100))
    tool = command(giving(Done()), backend=lookup, ask=ask)
    app = in_process(shared_stack.env(), tools=[tool])
    async with seeds_of(shared_stack) as seeds, client_of(app) as http:
        for key in ("odd", "found"):
            await seeds.begun(key, LOOKUP, arguments=Asked(), tool=tool.name)
        bearer = {"Authorization": f"Bearer {CRON_SECRET}"}
        swept = (await http.get("/api/cron/reconcile", headers=bearer)).json()
        states = [one and one.state for one in [await seeds.record(k) for k in ("odd", "found")]]
    assert swept == {"looked": 2, "settled": 1, "in_doubt": 1, "left": 0}
    assert states == ["in_doubt", "committed"]


async def test_our_own_cancellation_passes_also_where_it_comes_with_anothers() -> None:
    begun = asyncio.Event()

    async def waits(_: Call) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await awaiting_what_another_cancelled()

    task = asyncio.create_task(heard(waits, CALL, timeout_s=60))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_the_process_or_the_coroutine_passes(end: type[BaseException]) -> None:
    with pytest.raises(end):
        asyncio.run(heard(raising(end()), CALL, timeout_s=60))
