"""What went wrong elsewhere, as facts about this server; each names where it was reported.

Source: PROTOCOL §11. The reports that other tests hold are listed in tests/conformance.
"""

import json
from typing import Any

import pytest

from lib.dev.faults import AnswerLost, refusal
from lib.machinery.describe import KEY_RULE
from tests.harness.kinds import KINDS, named
from tests.harness.lossy import Callers, lossy_client
from tests.harness.stack import BOTH, OTHER_KEY, READ_KEY, Stack
from tests.harness.wire import Mcp

CREATE = KINDS[0]
NOTICE = next(kind for kind in KINDS if kind.backend == "none")


def created(key: str, **more: Any) -> dict[str, Any]:
    return {**CREATE.arguments("", key), "idempotency_key": key, **more}


@pytest.mark.parametrize("state", ["committed", "rejected", "in_doubt"])
async def test_a_settled_record_still_knows_what_it_was_for(stack: Stack, state: str) -> None:
    """powertools-lambda-typescript #5705: completion dropped the hash; every replay was refused."""
    faults = {"rejected": refusal(422, "invalid"), "in_doubt": AnswerLost()}
    async with lossy_client(stack) as http:
        callers = Callers(stack, http)
        for told in callers.told.values():
            if state in faults:
                on = told.kind.is_sent(told.key)
                stack.items.faults.plan(faults[state], on=on, count=None)
        told = await callers.call()
        known = {"committed": "succeeded"}.get(state, state)
        assert {each.first["outcome"] for each in told.values()} == {known}
        before = len(stack.items.faults.seen)
        mcp = Mcp(http=http)
        for each in told.values():
            other = each.kind.arguments("another", "another") | {"idempotency_key": each.key}
            said = await mcp.agree(each.kind.tool, **other)
            assert (said["outcome"], said["side_effect"]) == ("key_reused", "none")
        assert len(stack.items.faults.seen) == before
        await callers.call()
        assert "key_reused" not in {each.last["outcome"] for each in told.values()}


async def test_the_same_arguments_spelled_otherwise_are_the_same(stack: Stack) -> None:
    """powertools-lambda-python #638, -typescript #2570: the order of keys changed the hash."""
    async with lossy_client(stack) as http:
        mcp = Mcp(http=http)
        first = await mcp.settle("create_item", name="é", quantity=1, idempotency_key="key")
        asked = mcp.request("tools/call", name="create_item", arguments={"X": 1})
        spelled = b'{ "idempotency_key":"key" , "quantity":1,"name":"\\u00e9" }'
        content = asked.content.replace(b'{"X":1}', spelled)
        headers = {name: at for name, at in asked.headers.items() if name != "content-length"}
        again = (await http.post("/mcp", content=content, headers=headers)).json()
    assert again["result"]["structuredContent"] == first | {"this_call": "replayed"}


@pytest.mark.parametrize("key", [None, "", "  ", 7, {"missing": True}])
async def test_a_command_without_a_key_is_refused_before_anything(stack: Stack, key: Any) -> None:
    """powertools-lambda-python #2465, -typescript #1501: a missing key was hashed as null."""
    keyed = {} if key == {"missing": True} else {"idempotency_key": key}
    async with lossy_client(stack) as http:
        for kind in KINDS:
            said = await Mcp(http=http).settle(kind.tool, **kind.arguments("item", "text"), **keyed)
            assert (said["outcome"], said["side_effect"]) == ("invalid", "none")
            assert said["operation_id"] is None
    assert (stack.front.exchanges, stack.items.faults.seen) == ([], ())


async def test_a_key_belongs_to_a_principal_and_a_replay_is_authorised(stack: Stack) -> None:
    """titen #104, margince #5315: the API key was the scope; a replay skipped authorisation."""
    rotated = json.loads(stack.env()["AGENT_KEYS"])
    old, new = (each for each in rotated if each["id"] != "reader")
    withdrawn = [{**old, "scopes": ["call:tools"]}]
    async with lossy_client(stack) as http:
        first = await Mcp(http=http).settle("create_item", **created("key"))
        other = await Mcp(http=http, key=OTHER_KEY).settle("create_item", **created("key"))
        reader = await Mcp(http=http, key=READ_KEY).send(
            "tools/call", name="create_item", arguments=created("key")
        )
    same = json.dumps([{**new, "id": old["id"], "scopes": BOTH}])
    async with lossy_client(stack, AGENT_KEYS=same) as http:
        replayed = await Mcp(http=http, key=OTHER_KEY).settle("create_item", **created("key"))
    async with lossy_client(stack, AGENT_KEYS=json.dumps(withdrawn)) as http:
        refused = await Mcp(http=http).send(
            "tools/call", name="create_item", arguments=created("key")
        )
    assert (first["this_call"], other["this_call"]) == ("executed", "executed")
    assert first["operation_id"] != other["operation_id"]
    assert replayed == first | {"this_call": "replayed"}
    assert (reader.status_code, refused.status_code) == (403, 403)
    assert sum("key" in each.answer for each in stack.written) == 2


async def test_every_attempt_carries_one_reference_and_no_other_operation_does(
    stack: Stack,
) -> None:
    """stripe-php #637, stripe-ruby #598, KeeperHub #2207: a key replaced, leaked, kept back."""
    async with lossy_client(stack) as http:
        callers = Callers(stack, http)
        for told in callers.told.values():
            stack.items.faults.plan(AnswerLost(), on=told.kind.is_sent(told.key))
        told = await callers.call_until_definite()
        scene = len(KINDS)
        seen = stack.items.faults.seen[scene:]
        carried = {
            tool: {
                each.idempotency_key or each.reference
                for each in seen
                if f"{each.method} {each.path}".startswith(told[tool].kind.sends)
            }
            for tool in told
        }
    assert carried == {tool: {named(each.key).reference} for tool, each in told.items()} | {
        NOTICE.tool: {None}
    }
    assert len({each.last["operation_id"] for each in told.values()}) == len(KINDS)


async def test_a_model_is_told_one_key_per_action_and_when_an_answer_is_old(stack: Stack) -> None:
    """square-mcp-server #31, KeeperHub #1884: "unique per request"; a stale failure, silently."""
    async with lossy_client(stack) as http:
        mcp = Mcp(http=http)
        tools = {tool["name"]: tool for tool in (await mcp.result("tools/list"))["tools"]}
        asked = {"item_id": "missing", "message": "text", "idempotency_key": "key"}
        first = await mcp.settle("send_notice", **asked)
        again = await mcp.settle("send_notice", **asked)
    assert all(KEY_RULE in tools[kind.tool]["description"] for kind in KINDS)
    assert (first["outcome"], first["this_call"]) == ("rejected", "executed")
    assert (again["outcome"], again["this_call"]) == ("rejected", "replayed")
