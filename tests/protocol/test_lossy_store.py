"""The store's wire loses, delays, halves and refuses, at the claim and at the commit.

Source: PROTOCOL §1.6 (silent or full at the claim: nothing is sent), §3 (moves safe to send twice),
§10.5.
"""

import json
import socket
from itertools import count
from typing import Any

import pytest

from lib.dev.engine import Engine
from lib.dev.faults import (
    AnswerLost,
    DeliveredTwice,
    Fault,
    HalfAnswer,
    Held,
    ResetBefore,
    bad_gateway,
)
from lib.dev.store_faults import (
    MAX_REQUESTS,
    OVER_CAPACITY,
    engine_error,
    too_many_requests,
)
from lib.dev.wire import Request
from lib.machinery.runner.holding import ROUNDS
from tests.conftest import empty
from tests.harness.kinds import KINDS, between, named
from tests.harness.lossy import EXPIRING, Callers, Told, lossy_client
from tests.harness.stack import Stack

TOOLS = {kind.tool for kind in KINDS}
DELAYED = "delayed past the time-out"
STORE_TIMEOUT_S = 2.0
FAULTS: dict[str, tuple[Fault, bool]] = {  # and whether it is executed
    "reset before": (ResetBefore(), False),
    "502": (bad_gateway("before"), False),
    "429": (too_many_requests(), False),
    "full": (engine_error(OVER_CAPACITY), False),
    "monthly limit": (engine_error(MAX_REQUESTS), False),
    "answer lost": (AnswerLost(), True),
    "half an answer": (HalfAnswer(), True),
    "502 after": (bad_gateway("after"), True),
    DELAYED: (Held("after", 1.2 * STORE_TIMEOUT_S), True),
    "delivered twice": (DeliveredTwice(), True),
}


@pytest.fixture(name="stack")
def standing(shared_stack: Stack) -> Stack:
    return shared_stack


def plan(callers: Callers, fault: Fault, *, first: int, last: int | None = None) -> None:
    """Let the moves `first` to `last` of each operation suffer a fault; None: it and all others."""
    for told in callers.told.values():
        callers.stack.store_faults.plan(fault, on=between(told.key, first, last), count=None)


@pytest.mark.parametrize("at", [1, 2], ids=["claim", "commit"])
@pytest.mark.parametrize("name", FAULTS)
async def test_one_lost_exchange_with_the_store_changes_nothing(
    stack: Stack, name: str, at: int
) -> None:
    short = {"STORE_TIMEOUT_S": str(STORE_TIMEOUT_S)} if name == DELAYED else {}
    async with lossy_client(stack, **short) as http:
        callers = Callers(stack, http)
        plan(callers, FAULTS[name][0], first=at, last=at)
        await callers.call()
        told = await callers.call()
    for each in told.values():
        assert (each.first["outcome"], each.first["this_call"]) == ("succeeded", "executed")
        assert (each.first["recorded"], each.last) == (True, each.first | {"this_call": "replayed"})
    assert callers.effects() == dict.fromkeys(TOOLS, 1)


@pytest.mark.parametrize(
    "name", [name for name, (_, is_executed) in FAULTS.items() if not is_executed]
)
async def test_a_store_that_takes_no_claim_lets_nothing_be_sent(stack: Stack, name: str) -> None:
    async with lossy_client(stack) as http:
        callers = Callers(stack, http)
        plan(callers, FAULTS[name][0], first=1, last=2)
        before = len(stack.items.faults.seen)
        told = await callers.call()
        for each in told.values():
            first = each.first
            assert (first["outcome"], first["side_effect"]) == ("store_unavailable", "unknown")
            assert first["retry"] == {"advice": "same_key", "after_ms": 2_000}
        assert len(stack.items.faults.seen) == before
        await callers.call()
    assert {each.last["this_call"] for each in told.values()} == {"executed"}
    assert callers.effects() == dict.fromkeys(TOOLS, 1)


@pytest.mark.parametrize("taken_back", ["heard", "unheard"])
async def test_a_claim_whose_reply_never_came_is_taken_back(stack: Stack, taken_back: str) -> None:
    async with lossy_client(stack) as http:
        callers = Callers(stack, http)
        plan(callers, AnswerLost(), first=1, last=2 if taken_back == "heard" else 3)
        before = len(stack.items.faults.seen)
        told = await callers.call()
        assert {each.first["outcome"] for each in told.values()} == {"store_unavailable"}
        assert len(stack.items.faults.seen) == before
        await callers.call()
    assert {each.last["this_call"] for each in told.values()} == {"executed"}
    assert callers.effects() == dict.fromkeys(TOOLS, 1)


async def test_a_claim_that_could_not_be_taken_back_is_somebodys_lease_until_it_ends(
    stack: Stack,
) -> None:
    async with lossy_client(stack, **EXPIRING) as http:
        callers = Callers(stack, http)
        plan(callers, AnswerLost(), first=1, last=2)
        plan(callers, ResetBefore(), first=1, last=1)  # of those that the first fault left
        before = len(stack.items.faults.seen)
        told = await callers.call()
        assert {each.first["outcome"] for each in told.values()} == {"store_unavailable"}
        assert len(stack.items.faults.seen) == before
        await callers.call_until_definite()
    calls = {tool: (each.last["outcome"], each.last["this_call"]) for tool, each in told.items()}
    doubt = {"send_notice": ("in_doubt", "not_executed")}
    assert calls == dict.fromkeys(TOOLS, ("succeeded", "recovered")) | doubt
    assert callers.effects() == dict.fromkeys(TOOLS, 1) | {"send_notice": 0}


@pytest.mark.parametrize("name", ["full", "answer lost"])
async def test_a_success_that_could_not_be_recorded_is_told_and_its_retries_agree(
    stack: Stack, name: str
) -> None:
    fault, is_executed = FAULTS[name]
    async with lossy_client(stack, **EXPIRING) as http:
        callers = Callers(stack, http)
        plan(callers, fault, first=2)
        told = await callers.call()
        firsts = {tool: each.first["result"] for tool, each in told.items()}
        for each in told.values():
            assert (each.first["outcome"], each.first["recorded"]) == ("succeeded", False)
        stack.store_faults.clear()
        for each in told.values():
            each.envelopes.clear()
        await callers.call_until_definite()
    found = "replayed" if is_executed else "recovered"
    none = {} if is_executed else {"send_notice": ("in_doubt", "not_executed")}
    calls = {tool: (each.last["outcome"], each.last["this_call"]) for tool, each in told.items()}
    assert calls == dict.fromkeys(TOOLS, ("succeeded", found)) | none
    lasts: dict[str, Any] = {tool: each.last["result"] for tool, each in told.items()}
    assert lasts == firsts | ({} if is_executed else {"send_notice": None})
    assert callers.effects() == dict.fromkeys(TOOLS, 1)


@pytest.mark.parametrize("is_answered", [True, False], ids=["success", "no evidence"])
async def test_a_record_that_became_unreadable_meanwhile_hides_no_effect(
    stack: Stack, engine: Engine, *, is_answered: bool
) -> None:
    kinds = [kind for kind in KINDS if kind.backend == "none"]
    async with lossy_client(stack) as http:
        callers = Callers(stack, http, kinds=kinds)
        told = callers.told["send_notice"]

        def spoil(request: Request) -> bool:
            if told.kind.is_sent(told.key)(request):
                overwrite(engine, f"settle:1:{named(told.key).id}", '{"v":2}')
                return not is_answered
            return False

        stack.items.faults.plan(AnswerLost(), on=spoil)
        await callers.call()
    said = {name: told.first[name] for name in ("outcome", "side_effect", "this_call", "recorded")}
    known = {"outcome": "succeeded", "side_effect": "occurred", "recorded": False}
    doubt = {"outcome": "in_doubt", "side_effect": "unknown", "recorded": True}
    assert said == (known if is_answered else doubt) | {"this_call": "executed"}
    assert callers.effects() == {"send_notice": 1}


async def test_a_record_that_changes_faster_than_one_decides_hides_no_effect(
    stack: Stack, engine: Engine
) -> None:
    kinds = [kind for kind in KINDS if kind.backend == "none"]
    async with lossy_client(stack) as http:
        callers = Callers(stack, http, kinds=kinds)
        told = callers.told["send_notice"]
        is_commit, changes = between(told.key, 2, None), count(1)

        def outpaces(request: Request) -> bool:
            if is_commit(request):
                seen = json.loads(json.loads(request.body)[5])
                text = json.dumps(seen | {"elapsed_ms": next(changes)})
                overwrite(engine, f"settle:1:{named(told.key).id}", text)
            return False

        stack.store_faults.plan(ResetBefore(), on=outpaces)
        await callers.call()
        assert next(changes) == 1 + ROUNDS
        stack.store_faults.clear()
        await callers.call()
    assert (told.first["outcome"], told.first["recorded"]) == ("succeeded", False)
    assert told.last["outcome"] == "in_progress"
    assert callers.effects() == {"send_notice": 1}


async def test_a_doubt_whose_record_was_lost_meanwhile_sends_nothing_twice(
    stack: Stack, engine: Engine
) -> None:
    kinds = [kind for kind in KINDS if kind.backend in {"lookup", "none"}]
    async with lossy_client(stack) as http:
        for kind in kinds:
            callers = Callers(stack, http, kinds=[kind])
            told = callers.told[kind.tool]

            def loses(request: Request, told: Told = told) -> bool:
                if told.kind.is_sent(told.key)(request):
                    empty(engine)
                    return True
                return False

            stack.items.faults.plan(AnswerLost(), on=loses)
            await callers.call()
            await callers.call()
            assert (told.first["outcome"], told.first["this_call"]) == ("in_doubt", "executed")
            assert told.last["this_call"] != "executed"
            assert callers.effects() == {kind.tool: 1}


def overwrite(engine: Engine, key: str, text: str) -> None:
    """Put a text where a record was, as another version of this code would."""
    parts = ["SET", key, text, "KEEPTTL"]
    command = "".join(f"${len(part.encode())}\r\n{part}\r\n" for part in parts)
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(str(engine.socket_path))
        wire.sendall(f"*{len(parts)}\r\n{command}".encode())
        assert wire.recv(16) == b"+OK\r\n"
