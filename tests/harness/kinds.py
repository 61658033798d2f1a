"""One command of each backend class, as data: how it is called, and what it leaves behind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from lib.contract import Principal
from lib.dev.faulty import Match
from lib.dev.wire import Request
from lib.machinery.gate.auth import AGENT_KEY_ISSUER
from lib.machinery.runner.record import Operation, operation
from tests.harness.stack import READ_TOKEN, WRITE_TOKEN, Stack
from tests.harness.wire import PLAIN

WRITER = Principal(issuer=AGENT_KEY_ISSUER, subject="writer")

type Class = Literal["keyed", "lookup", "unique", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One command. arguments: of the item it is about, and of a text that no other call has."""

    tool: str
    backend: Class
    sends: str
    arguments: Callable[[str, str], dict[str, Any]]

    def is_sent(self, key: str) -> Match:
        """Match the requests by which this command, under this key, has its effect."""
        reference, method, path = named(key).reference, *self.sends.split()

        def matches(request: Request) -> bool:
            under = (request.headers.get("idempotency-key"), request.headers.get("x-reference"))
            is_ours = reference in under or f'"{key}"'.encode() in request.body
            return request.method == method and request.path.startswith(path) and is_ours

        return matches

    def effects(self, stack: Stack, key: str) -> int:
        """Count what this command did under this key, ever."""
        if self.backend == "none":
            return [each["message"] for each in notices(stack)].count(key)
        method, path = self.sends.split()
        reference = named(key).reference
        return sum(
            each.under == reference and each.method == method and each.path.startswith(path)
            for each in stack.written
        )


KINDS = (
    Kind(
        tool="create_item",
        backend="keyed",
        sends="POST /items",
        arguments=lambda _, text: {"name": text, "quantity": 1},
    ),
    Kind(
        tool="delete_item",
        backend="keyed",
        sends="DELETE /items",
        arguments=lambda item_id, _: {"item_id": item_id},
    ),
    Kind(
        tool="update_item",
        backend="lookup",
        sends="PATCH /items",
        arguments=lambda item_id, text: {"item_id": item_id, "name": text},
    ),
    Kind(
        tool="attach_label",
        backend="unique",
        sends="POST /labels",
        arguments=lambda item_id, text: {"item_id": item_id, "text": text},
    ),
    Kind(
        tool="send_notice",
        backend="none",
        sends="POST /notices",
        arguments=lambda item_id, text: {"item_id": item_id, "message": text},
    ),
)


def named(key: str) -> Operation:
    """Name the operation of the writer's idempotency key in the stack's environment."""
    return operation("production", WRITER, key)


def moves(key: str) -> Match:
    """Match the scripts that the store is sent about one operation."""
    operation_id = named(key).id.encode()
    return lambda request: b"EVAL" in request.body and operation_id in request.body


def between(key: str, first: int, last: int | None) -> Match:
    """Match the moves `first` to `last` of one operation, from 1; None: to the end."""
    match, seen = moves(key), 0

    def matches(request: Request) -> bool:
        nonlocal seen
        if not match(request):
            return False
        seen += 1
        return first <= seen and (last is None or seen <= last)

    return matches


def new_item(stack: Stack, name: str = "item") -> str:
    """Put an item into the items service, past every command; give its id."""
    answer = httpx.post(
        f"{stack.items_url}/items",
        json={"name": name, "quantity": 0},
        headers={"Authorization": f"Bearer {WRITE_TOKEN}", "Idempotency-Key": f"new-{name}"},
        verify=PLAIN,
    )
    return answer.json()["id"]


def notices(stack: Stack) -> list[dict[str, str]]:
    """List the notices that the items service accepted."""
    answer = httpx.get(
        f"{stack.items_url}/notices",
        headers={"Authorization": f"Bearer {READ_TOKEN}"},
        verify=PLAIN,
    )
    return answer.json()["notices"]
