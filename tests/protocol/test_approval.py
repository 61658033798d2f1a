"""Server-enforced approval of `delete_item`: what is asked, what counts as a yes, what does not."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from lib.machinery.runner.deadline import Clock
from tests.harness.approval import NO, YES, first_round, new_item, second_round
from tests.harness.audit import audit_lines
from tests.harness.servers import client_of, in_process
from tests.harness.stack import OTHER_KEY, STATE_KEY, Stack
from tests.harness.wire import LEGACY, Mcp


@dataclass
class Watch:
    """A wall clock that a test moves."""

    ahead_s: float = 0.0
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(steady=time.monotonic, wall=lambda: 1_800_000_000.0 + self.ahead_s)


@asynccontextmanager
async def calling(stack: Stack, *, watch: Watch | None = None, **more: str) -> AsyncGenerator[Mcp]:
    app = in_process(stack.env(**more), clock=(watch or Watch()).clock)
    async with client_of(app) as http:
        yield Mcp(http=http)


def check_refused(result: dict[str, Any], code: str) -> None:
    said = result["structuredContent"]
    assert result["isError"] is True
    assert (said["outcome"], said["error"]["code"]) == ("forbidden", code)
    assert (said["side_effect"], said["this_call"]) == ("none", "not_executed")
    again = {"advice": "same_key", "after_ms": 0}  # which leads to the person once more
    never = {"advice": "never", "after_ms": None}
    assert said["retry"] == (again if code == "approval_expired" else never)
    assert len(said["error"]["message"]) > 30
    assert result["content"][0]["text"].startswith("Not allowed: ")


async def test_the_question_names_tool_arguments_and_target(stack: Stack) -> None:
    async with calling(stack) as mcp:
        asked = await first_round(mcp, item_id="i-7", idempotency_key="k")
    assert "delete_item" in asked.message
    assert '"item_id": "i-7"' in asked.message
    assert "the items service" in asked.message
    assert asked.schema["required"] == ["approve"]
    assert asked.schema["properties"]["approve"]["type"] == "boolean"


async def test_a_yes_deletes_once_and_the_same_round_again_replays(stack: Stack) -> None:
    async with calling(stack) as mcp:
        item = await new_item(mcp)
        before = len(stack.front.exchanges)
        asked = await first_round(mcp, item_id=item, idempotency_key="k")
        assert len(stack.front.exchanges) - before == 1
        with audit_lines() as lines:
            done = await second_round(mcp, asked.state, item_id=item, idempotency_key="k")
            assert len(stack.front.exchanges) - before == 3
            again = await second_round(mcp, asked.state, item_id=item, idempotency_key="k")
            later = await mcp.settle("delete_item", item_id=item, idempotency_key="k")
    said = done["structuredContent"]
    assert (said["outcome"], said["this_call"]) == ("succeeded", "executed")
    assert again["structuredContent"] == {**said, "this_call": "replayed"} == later
    assert stack.items.effects().deleted == 1
    assert [line["approved_by_human"] for line in lines] == [True, True, False]


NO_CLEAR_YES: list[dict[str, Any]] = [
    NO,
    {"action": "cancel"},
    {"action": "accept"},
    {"action": "accept", "content": {}},
    {"action": "accept", "content": {"approve": False}},
    {"action": "accept", "content": {"approve": "true"}},
    {"action": "accept", "content": {"approve": 1}},
    {"action": "decline", "content": {"approve": True}},
    {"action": "accept", "content": {"Approve": True}},
]


async def test_whatever_is_no_clear_yes_declines(stack: Stack) -> None:
    async with calling(stack) as mcp:
        asked = await first_round(mcp, item_id="1", idempotency_key="k")
        for answer in NO_CLEAR_YES:
            with audit_lines() as lines:
                result = await second_round(
                    mcp, asked.state, answer, item_id="1", idempotency_key="k"
                )
            check_refused(result, "declined")
            [line] = lines
            assert (line["decision"], line["approved_by_human"]) == ("refuse", False)
        known = await mcp.call("get_operation", idempotency_key="k")
    assert known["structuredContent"]["known"] is False
    assert stack.items.faults.seen == ()


async def test_an_approval_expires(stack: Stack) -> None:
    watch = Watch()
    async with calling(stack, watch=watch) as mcp:
        item = await new_item(mcp)
        asked = await first_round(mcp, item_id=item, idempotency_key="k")
        watch.ahead_s = 600.0
        late = await second_round(mcp, asked.state, item_id=item, idempotency_key="k")
        watch.ahead_s = 599.5
        done = await second_round(mcp, asked.state, item_id=item, idempotency_key="k")
    check_refused(late, "approval_expired")
    assert "again" in late["content"][0]["text"]
    assert done["structuredContent"]["outcome"] == "succeeded"


async def test_no_byte_of_the_state_can_be_changed(stack: Stack) -> None:
    async with calling(stack) as mcp:
        state = (await first_round(mcp, item_id="1", idempotency_key="k")).state
        places = [*range(0, len(state), max(1, len(state) // 40)), len(state) - 2]
        forged = [
            f"{state[:at]}{'A' if state[at] != 'A' else 'B'}{state[at + 1 :]}" for at in places
        ]
        forged += ["", "x", state[:-1], state[:40], state * 2, "v1." + "A" * 200, "é"]
        for each in forged:
            result = await second_round(mcp, each, item_id="1", idempotency_key="k")
            check_refused(result, "approval_mismatch")
    assert stack.items.faults.seen == ()


@pytest.mark.parametrize(
    "change", [{"item_id": "2"}, {"idempotency_key": "other"}, {"key": OTHER_KEY}]
)
async def test_an_approval_moves_to_no_other_call(stack: Stack, change: dict[str, str]) -> None:
    async with calling(stack) as mcp:
        asked = await first_round(mcp, item_id="1", idempotency_key="k")
        other = Mcp(http=mcp.http, key=change.pop("key", mcp.key))
        sent: dict[str, Any] = {"item_id": "1", "idempotency_key": "k", **change}
        check_refused(await second_round(other, asked.state, **sent), "approval_mismatch")
    assert stack.items.faults.seen == ()


async def test_an_approval_moves_to_no_other_environment(stack: Stack) -> None:
    async with calling(stack) as mcp:
        asked = await first_round(mcp, item_id="1", idempotency_key="k")
    async with calling(stack, VERCEL_ENV="development") as mcp:
        result = await second_round(mcp, asked.state, item_id="1", idempotency_key="k")
    check_refused(result, "approval_mismatch")


async def test_any_instance_with_the_same_state_key_takes_the_answer(stack: Stack) -> None:
    async with calling(stack) as mcp:
        item = await new_item(mcp)
        asked = await first_round(mcp, item_id=item, idempotency_key="k")
    async with calling(stack, STATE_KEY=STATE_KEY[::-1]) as mcp:
        foreign = await second_round(mcp, asked.state, item_id=item, idempotency_key="k")
    async with calling(stack) as mcp:
        done = await second_round(mcp, asked.state, item_id=item, idempotency_key="k")
    check_refused(foreign, "approval_mismatch")
    assert done["structuredContent"]["outcome"] == "succeeded"


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"sampling": {}}])
async def test_a_client_that_cannot_ask_is_refused_and_told_why(
    stack: Stack, capabilities: dict[str, Any]
) -> None:
    async with calling(stack) as mcp:
        mute = Mcp(http=mcp.http, capabilities=capabilities)
        result = await mute.call("delete_item", item_id="1", idempotency_key="k")
    check_refused(result, "approval_unavailable")
    assert "cannot ask" in result["content"][0]["text"]
    assert stack.items.faults.seen == ()


@pytest.mark.parametrize("capabilities", [{"elicitation": {"form": {}}}, {"elicitation": {}}])
async def test_a_client_that_has_forms_is_asked(stack: Stack, capabilities: dict[str, Any]) -> None:
    async with calling(stack) as mcp:
        able = Mcp(http=mcp.http, capabilities=capabilities)
        await first_round(able, item_id="1", idempotency_key="k")


@pytest.mark.parametrize("more", [{}, {"inputResponses": {"approval": YES}}])
async def test_the_legacy_era_cannot_ask_and_is_refused(stack: Stack, more: dict[str, Any]) -> None:
    async with calling(stack) as mcp:
        old = Mcp(http=mcp.http, era=LEGACY)
        sent = {"item_id": "1", "idempotency_key": "k"}
        result = await old.result("tools/call", name="delete_item", arguments=sent, **more)
    said = result["structuredContent"]
    assert (said["outcome"], said["side_effect"]) == ("forbidden", "none")
    assert said["error"]["code"] in {"approval_unavailable", "approval_mismatch"}
    assert stack.items.faults.seen == ()


async def test_a_yes_without_a_question_approves_nothing(stack: Stack) -> None:
    async with calling(stack) as mcp:
        result = await second_round(mcp, None, item_id="1", idempotency_key="k")
    check_refused(result, "approval_mismatch")


async def test_a_state_without_an_answer_asks_again(stack: Stack) -> None:
    async with calling(stack) as mcp:
        asked = await first_round(mcp, item_id="1", idempotency_key="k")
        result = await second_round(mcp, asked.state, None, item_id="1", idempotency_key="k")
    assert result["resultType"] == "input_required"


async def test_a_missing_state_key_is_a_settings_fault(stack: Stack) -> None:
    env = stack.env()
    del env["STATE_KEY"]
    async with client_of(in_process(env)) as http:
        answer = await Mcp(http=http).send("tools/list")
    assert answer.status_code == 503
    assert [fault["variable"] for fault in answer.json()["error"]["faults"]] == ["STATE_KEY"]
    async with client_of(in_process(env, tools=[])) as http:
        assert (await Mcp(http=http).send("tools/list")).status_code == 200
