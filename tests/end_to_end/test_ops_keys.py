"""`lib.ops key new`: a key that the server knows by its entry, and only for what it was given."""

import json

import pytest

from tests.harness.operator import ops
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp


async def test_a_new_key_opens_the_server_that_holds_its_entry(stack: Stack) -> None:
    made = ops(
        {}, "key", "new", "--id", "agent", "--scopes", "call:tools", "--expires", "90d", "--json"
    )
    key, entry = made.said["key"], made.said["entry"]

    async with client_of(in_process(stack.env(AGENT_KEYS=json.dumps([entry])))) as http:
        mcp = Mcp(http=http, key=key)
        allowed = await mcp.send("tools/call", name="list_items", arguments={})
        refused = await mcp.send("tools/call", name="send_notice", arguments={})

    assert (made.code, allowed.status_code, refused.status_code) == (0, 200, 403)
    assert key not in json.dumps(entry) + made.said["command"]
    assert json.dumps([entry], separators=(",", ":")) in made.said["command"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("--id", "agent", "--scopes", "call:everything"),
        ("--id", "agent", "--scopes", " , "),
        ("--id", "an agent", "--scopes", "call:tools"),
        ("--id", "agent", "--scopes", "call:tools", "--expires", "2020-01-01T00:00:00Z"),
        ("--id", "agent", "--scopes", "call:tools", "--expires", "2090-01-01T00:00:00"),
        ("--id", "agent", "--scopes", "call:tools", "--expires", "soon"),
        ("--id", "agent"),
    ],
)
def test_a_wish_that_agent_keys_could_not_hold_ends_with_2_and_makes_no_key(
    wrong: tuple[str, ...],
) -> None:
    ran = ops({}, "key", "new", *wrong)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err


def test_a_scope_of_another_deployment_is_given_only_on_purpose() -> None:
    wish = ("--id", "agent", "--scopes", "call:tools,orders:refund", "--json")

    on_purpose = ops({}, "key", "new", *wish, "--allow-scope", "orders:refund")

    assert on_purpose.said["entry"]["scopes"] == ["call:tools", "orders:refund"]
    assert ops({}, "key", "new", *wish).said["error"]["code"] == "unknown_scope"
