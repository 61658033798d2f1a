"""The backend's wire loses, delays, halves and doubles; what each class is told, and what was done.

Source: PROTOCOL §4 (the table), §5 (classes), §6 (evidence), §10.5.
"""

import asyncio
import threading
from dataclasses import dataclass

import pytest

from lib.dev.faults import (
    AnswerLost,
    DeliveredTwice,
    Exchange,
    Fault,
    HalfAnswer,
    Held,
    HeldInside,
    LandsLate,
    ResetBefore,
    UnreadableBody,
    bad_gateway,
    rate_limited,
    refusal,
    unavailable,
)
from lib.dev.wire import Cut, Sent
from tests.harness.kinds import KINDS
from tests.harness.lossy import EXPIRING, Callers, lossy_client
from tests.harness.stack import Stack

DEDUPLICATED = {kind.tool for kind in KINDS if kind.backend in {"keyed", "unique"}}
TOOLS = {kind.tool for kind in KINDS}
BACKEND_TIMEOUT_S = 5.0
NO_EVIDENCE: dict[str, tuple[Fault, bool]] = {  # and whether it is executed
    "answer lost": (AnswerLost(), True),
    "reset after": (AnswerLost(is_reset=True), True),
    "reset before": (ResetBefore(), False),
    "502 before": (bad_gateway("before"), False),
    "502 after": (bad_gateway("after"), True),
    "503 before": (unavailable("before"), False),
    "503 after": (unavailable("after"), True),
    "lands late": (LandsLate(0.6), True),
    "delayed past the time-out": (Held("after", BACKEND_TIMEOUT_S + 0.2), True),
    "held before, past the time-out": (Held("before", BACKEND_TIMEOUT_S + 0.2), True),
}


@pytest.fixture(name="stack")
def standing(shared_stack: Stack) -> Stack:
    return shared_stack


@dataclass(frozen=True, slots=True)
class TwiceAndLost:
    async def play(self, exchange: Exchange, /) -> Sent:
        await exchange.execute()
        await exchange.execute()
        return Cut(is_reset=False)


def plan(callers: Callers, fault: Fault | HeldInside, *, count: int | None = 1) -> None:
    for told in callers.told.values():
        callers.stack.items.faults.plan(fault, on=told.kind.is_sent(told.key), count=count)


async def test_no_evidence_is_found_out_where_it_can_be_and_else_stays_in_doubt(
    stack: Stack,
) -> None:
    async with lossy_client(stack, BACKEND_TIMEOUT_S=str(BACKEND_TIMEOUT_S)) as http:
        crews = {name: Callers(stack, http) for name in NO_EVIDENCE}
        for name, callers in crews.items():
            plan(callers, NO_EVIDENCE[name][0])
        await asyncio.gather(*(callers.call_until_definite() for callers in crews.values()))
    for name, callers in crews.items():
        firsts = {tool: told.first["outcome"] for tool, told in callers.told.items()}
        assert firsts == dict.fromkeys(TOOLS, "in_doubt") | dict.fromkeys(DEDUPLICATED, "succeeded")
        lasts = {tool: told.last["outcome"] for tool, told in callers.told.items()}
        assert lasts == dict.fromkeys(TOOLS, "succeeded") | {"send_notice": "in_doubt"}, name
        none = {"send_notice": int(NO_EVIDENCE[name][1])}
        assert callers.effects() == dict.fromkeys(TOOLS, 1) | none, name


@pytest.mark.parametrize("name", ["answer lost", "reset before"])
async def test_a_wire_that_stays_broken_leaves_every_class_in_doubt_for_its_retry(
    stack: Stack, name: str
) -> None:
    fault, is_executed = NO_EVIDENCE[name]
    async with lossy_client(stack, **EXPIRING) as http:
        callers = Callers(stack, http)
        plan(callers, fault, count=None)
        told = await callers.call()
        assert {each.first["outcome"] for each in told.values()} == {"in_doubt"}
        assert {each.first["this_call"] for each in told.values()} == {"executed"}
        stack.items.faults.clear()
        await callers.call_until_definite()
    calls = {tool: each.last["this_call"] for tool, each in told.items()}
    assert calls == dict.fromkeys(TOOLS, "recovered") | {"send_notice": "executed"}
    assert callers.effects() == dict.fromkeys(TOOLS, 1) | {"send_notice": int(is_executed)}


@pytest.mark.parametrize("fault", [HalfAnswer(), UnreadableBody()])
async def test_a_success_that_cannot_be_read_is_one_and_never_runs_again(
    stack: Stack, fault: Fault
) -> None:
    async with lossy_client(stack) as http:
        callers = Callers(stack, http)
        plan(callers, fault)
        await callers.call()
        told = await callers.call()
    for each in told.values():
        assert (each.first["outcome"], each.first["result"]) == ("succeeded", None)
        assert each.first["error"]["code"] == "answer_unreadable"
        assert each.last == each.first | {"this_call": "replayed"}
    assert callers.effects() == dict.fromkeys(TOOLS, 1)


async def test_what_was_turned_away_leaves_nothing_and_runs_with_the_same_key(
    stack: Stack,
) -> None:
    async with lossy_client(stack) as http:
        callers = Callers(stack, http)
        plan(callers, rate_limited(1))
        told = await callers.call_until_definite()
    for each in told.values():
        first = each.first
        assert (first["outcome"], first["side_effect"]) == ("not_executed", "none")
        assert first["retry"] == {"advice": "same_key", "after_ms": 1_000}
        assert (each.last["outcome"], each.last["this_call"]) == ("succeeded", "executed")
    assert callers.effects() == dict.fromkeys(TOOLS, 1)


async def test_a_refusal_is_kept_and_replayed_without_asking_again(stack: Stack) -> None:
    async with lossy_client(stack) as http:
        callers = Callers(stack, http)
        plan(callers, refusal(409, "conflict"))
        await callers.call()
        told = await callers.call()
    for each in told.values():
        assert (each.first["outcome"], each.first["this_call"]) == ("rejected", "executed")
        assert each.last == each.first | {"this_call": "replayed"}
    assert callers.effects() == dict.fromkeys(TOOLS, 0)


@pytest.mark.parametrize("fault", [refusal(404, "not_found"), rate_limited(0)])
async def test_no_is_not_believed_while_an_earlier_send_may_have_landed(
    stack: Stack, fault: Fault
) -> None:
    kinds = [kind for kind in KINDS if kind.tool in DEDUPLICATED]
    async with lossy_client(stack) as http:
        callers = Callers(stack, http, kinds=kinds)
        plan(callers, AnswerLost())
        plan(callers, fault)
        told = await callers.call()
        assert {each.first["outcome"] for each in told.values()} == {"in_doubt"}
        plan(callers, fault, count=None)
        await callers.call()
        assert {each.last["outcome"] for each in told.values()} == {"in_doubt"}
        stack.items.faults.clear()
        await callers.call_until_definite()
    assert {each.last["this_call"] for each in told.values()} == {"recovered"}
    assert callers.effects() == dict.fromkeys(DEDUPLICATED, 1)


async def test_a_key_in_use_is_waited_for_and_then_found(stack: Stack) -> None:
    inside = threading.Event()
    async with lossy_client(stack, **EXPIRING) as http:
        callers = Callers(stack, http, kinds=KINDS[:2])
        plan(callers, HeldInside(inside))
        told = await callers.call()
        inside.set()
        for each in told.values():
            assert (each.first["outcome"], each.first["error"]["code"]) == (
                "in_doubt",
                "key_in_use",
            )
            assert each.first["retry"] == {"advice": "same_key", "after_ms": 5_000}
        async with asyncio.timeout(5):  # until the service has let go of the key
            while "in_doubt" in {each.last["outcome"] for each in told.values()}:
                await callers.call()
    assert {each.last["this_call"] for each in told.values()} == {"recovered"}
    assert set(callers.effects().values()) == {1}


async def test_a_request_delivered_twice_is_one_effect_where_the_backend_deduplicates(
    stack: Stack,
) -> None:
    async with lossy_client(stack) as http:
        callers = Callers(stack, http)
        plan(callers, DeliveredTwice())
        told = await callers.call()
    assert {each.first["outcome"] for each in told.values()} == {"succeeded"}
    # What a network doubles behind our back, only the backend can undo.
    assert callers.effects() == {tool: 1 if tool in DEDUPLICATED else 2 for tool in TOOLS}


async def test_two_effects_under_one_reference_are_a_conflict_for_a_person(stack: Stack) -> None:
    async with lossy_client(stack) as http:
        callers = Callers(stack, http, kinds=[kind for kind in KINDS if kind.backend == "lookup"])
        plan(callers, TwiceAndLost())
        told = (await callers.call_until_definite())["update_item"]
    assert (told.last["outcome"], told.last["error"]["code"]) == ("in_doubt", "conflict")
    assert told.last["retry"] == {"advice": "never", "after_ms": None}
