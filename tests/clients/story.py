"""What every client is put through: list, query, command, replay, be refused, be approved."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.harness.listed import COMMANDS, QUERIES
from tests.harness.stack import READ_KEY, WRITE_KEY, Stack


@dataclass(frozen=True, slots=True)
class Step:
    """One call under a key; without a tool it lists the tools."""

    key: str
    tool: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a client made of an answer. raised: the words of what it threw instead."""

    tools: list[str] | None = None
    structured: Any = None
    text: str = ""
    is_error: bool = False
    raised: str | None = None


type Client = Callable[[str, list[Step]], list[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A client. refused: what it says about a 403; approves: it can put a form to its user."""

    client: Client
    refused: str
    approves: bool


def play(peer: Peer, url: str, stack: Stack, item: dict[str, Any]) -> None:
    """Let a client take every step at a server that holds one item, and check what it saw."""
    lamp = {"name": "lamp", "quantity": 1, "idempotency_key": "k"}
    steps = [
        Step(READ_KEY),
        Step(WRITE_KEY),
        Step(READ_KEY, "get_item", {"item_id": item["id"]}),
        Step(WRITE_KEY, "create_item", lamp),
        Step(WRITE_KEY, "create_item", lamp),
        Step(WRITE_KEY, "create_item", {**lamp, "quantity": -1}),
        Step(READ_KEY, "create_item", {**lamp, "idempotency_key": "other"}),
        Step(WRITE_KEY, "delete_item", {"item_id": item["id"], "idempotency_key": "d"}),
    ]
    few, all_, found, created, replayed, invalid, withheld, deleted = peer.client(url, steps)
    assert (few.tools, all_.tools) == (QUERIES, QUERIES + COMMANDS)
    assert (found.structured, found.is_error) == (item, False)
    done = created.structured
    assert (done["outcome"], done["this_call"], created.is_error) == (
        "succeeded",
        "executed",
        False,
    )
    assert replayed.structured == {**done, "this_call": "replayed"}
    assert (invalid.is_error, invalid.text.split(":")[0]) == (True, "Input validation error")
    assert "quantity" in invalid.text
    assert peer.refused in (withheld.raised or "")
    effects = stack.items.effects()
    assert effects.created == 2
    judge_approval(deleted, effects.deleted, item, approves=peer.approves)


def judge_approval(deleted: Answer, count: int, item: dict[str, Any], *, approves: bool) -> None:
    """Check that a command which needs a person was done exactly where one could agree."""
    told = deleted.structured
    if approves:
        assert (told["outcome"], told["result"], count) == ("succeeded", item, 1)
    else:
        assert (told["outcome"], told["error"]["code"]) == ("forbidden", "approval_unavailable")
        assert (deleted.is_error, count) == (True, 0)
