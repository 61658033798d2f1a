"""The items service: one system of record, reached with one credential to read and one to write.

Source: DESIGN §4, its table of calls and its refusals.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from lib.backend.answers import Meanings, ours
from lib.backend.wire import Address, Wire
from lib.contract import BackendSilentError, Call, Page, PageArguments, RefusedError

MEANINGS = Meanings(
    sentences={
        "not_found": "There is no such item.",
        "forbidden": "The server's own credential may not do this.",
        "unauthorized": "The server's own credential is not accepted.",
        "conflict": "The item is in a state that does not allow this.",
        "key_reused": "The items service knows this operation with other arguments.",
        "invalid": "The items service does not accept these values.",
        "rate_limited": "The items service is busy.",
        "unavailable": "The items service is not available.",
    },
)


class Item(BaseModel):
    """An item; `version` grows with each change."""

    id: str
    name: str
    quantity: int
    version: int


class Accepted(BaseModel):
    """A notice was taken over for delivery."""

    accepted: bool


class Changes(BaseModel):
    """The fields of an item to overwrite; None leaves one as it is."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = None
    quantity: int | None = None


class Change(BaseModel):
    """What the service stored under a reference: the newest change, and how many there are."""

    reference: str
    item_id: str
    request: Changes
    item: Item
    count: Annotated[int, Field(ge=1)] = 1


class Items:
    """The service's calls. Each raises what the exchange proves, as `Wire.exchange` says."""

    def __init__(self, *, read: Address | None, write: Address | None) -> None:
        self._read, self._write = Wire(read, MEANINGS), Wire(write, MEANINGS)

    async def find(self, item_id: str, call: Call) -> Item:
        """Find one item."""
        return await self._read.exchange(f"GET /items/{item_id}", Item, call)

    async def page(self, asked: PageArguments, call: Call, *, text: str = "") -> Page[Item]:
        """List items in the order they were created; with `text`, those whose name has it."""
        params = {"limit": str(asked.limit)}
        params |= {"cursor": asked.cursor} if asked.cursor else {}
        params |= {"text": text} if text else {}
        return await self._read.exchange("GET /items", Page[Item], call, params=params)

    async def create(self, name: str, quantity: int, call: Call) -> Item:
        """Create an item; the service keeps our reference as the key, for 24 hours."""
        return await self._write.exchange(
            "POST /items",
            Item,
            call,
            json={"name": name, "quantity": quantity},
            headers={"Idempotency-Key": call.reference},
        )

    async def change(self, item_id: str, changes: Changes, call: Call) -> Item:
        """Overwrite fields of an item; the service stores our reference with the change."""
        return await self._write.exchange(
            f"PATCH /items/{item_id}",
            Item,
            call,
            json=changes.model_dump(exclude_none=True),
            headers={"X-Reference": call.reference},
        )

    async def changes_made(self, call: Call) -> list[Change]:
        """Ask which changes are stored under our reference: none, one, or at least two.

        Raises:  BackendSilentError: also where a 404 is not the service's own, which proves
                 nothing about the change.
        """
        path = f"/operations/{call.reference}"
        try:
            change = await self._write.exchange(f"GET {path}", Change, call)
        except RefusedError as no:
            if no.code == "not_found":  # which the wire takes from a 404 only
                return []
            raise
        if change.reference != call.reference:
            raise ours(BackendSilentError, "answer_unreadable")
        return [change] * min(change.count, 2)

    async def delete(self, item_id: str, call: Call) -> Item:
        """Delete an item, and tell what it was; keyed as `create` is."""
        return await self._write.exchange(
            f"DELETE /items/{item_id}", Item, call, headers={"Idempotency-Key": call.reference}
        )

    async def notify(self, item_id: str, message: str, call: Call) -> Accepted:
        """Send a notice about an item; the service keeps nothing that we could ask for later."""
        return await self._write.exchange(
            "POST /notices", Accepted, call, json={"item_id": item_id, "message": message}
        )
