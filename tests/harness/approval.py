"""A person's approval as it goes over the wire: the question, and the answer sent back with it."""

from dataclasses import dataclass
from typing import Any

from tests.harness.wire import Mcp

YES: dict[str, Any] = {"action": "accept", "content": {"approve": True}}
NO: dict[str, Any] = {"action": "decline"}

type Sent = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a first round answered."""

    message: str
    schema: dict[str, Any]
    state: str


async def new_item(mcp: Mcp, *, name: str = "lamp") -> str:
    """Create an item to be deleted."""
    done = await mcp.settle("create_item", name=name, quantity=1, idempotency_key=f"new {name}")
    return done["result"]["id"]


async def first_round(mcp: Mcp, **arguments: Any) -> Asked:
    """Ask to delete an item, and be asked back."""
    result = await mcp.call("delete_item", **arguments)
    assert result["resultType"] == "input_required", result
    [name] = result["inputRequests"]
    assert name == "approval"
    request = result["inputRequests"][name]
    assert request["method"] == "elicitation/create"
    params = request["params"]
    return Asked(params["message"], params["requestedSchema"], result["requestState"])


async def second_round(
    mcp: Mcp,
    state: str | None,
    answer: Sent | None = YES,
    *,
    tool: str = "delete_item",
    **args: Any,
) -> dict[str, Any]:
    """Send the call again with an answer and the sealed state; give the whole result."""
    more: dict[str, Any] = {} if state is None else {"requestState": state}
    more |= {} if answer is None else {"inputResponses": {"approval": answer}}
    return await mcp.result("tools/call", name=tool, arguments=args, **more)
