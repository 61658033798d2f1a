"""The items service without a service: what the example tests of the tools run on."""

from lib.backend.items import Accepted, Change, Changes, Item, Items
from lib.contract import Call, Page, PageArguments, Principal, RefusedError


def call_under(reference: str) -> Call:
    """Make what the machinery tells a tool; "" is the reference of a query."""
    ann = Principal(issuer="tests", subject="ann")
    return Call(principal=ann, timeout_s=5, reference=reference)


class FakeItems(Items):
    """Items in memory, with the keys and references that the real service keeps.

    It belongs to no address: a call that is not overridden here is refused before it is sent.
    """

    def __init__(self, *items: Item) -> None:
        super().__init__(read=None, write=None)
        self.items = {item.id: item for item in items}
        self.notices: list[tuple[str, str]] = []
        self._by_key: dict[str, Item] = {}
        self._changes: dict[str, list[Change]] = {}

    async def find(self, item_id: str, call: Call) -> Item:  # noqa: ARG002  the signature is the real one's
        if item_id not in self.items:
            raise RefusedError("not_found", "There is no such item.")
        return self.items[item_id]

    async def page(
        self,
        asked: PageArguments,
        call: Call,  # noqa: ARG002  as above
        *,
        text: str = "",
    ) -> Page[Item]:
        start = int(asked.cursor or "0")
        end = start + asked.limit
        found = [item for item in self.items.values() if text.casefold() in item.name.casefold()]
        cursor = str(end) if end < len(found) else None
        return Page(items=found[start:end], next_cursor=cursor)

    async def create(self, name: str, quantity: int, call: Call) -> Item:
        if call.reference not in self._by_key:
            item_id = f"i{len(self.items) + 1}"
            item = Item(id=item_id, name=name, quantity=quantity, version=1)
            self.items[item_id] = self._by_key[call.reference] = item
        return self._by_key[call.reference]

    async def change(self, item_id: str, changes: Changes, call: Call) -> Item:
        item = await self.find(item_id, call)
        fields = changes.model_dump(exclude_none=True) | {"version": item.version + 1}
        self.items[item_id] = item.model_copy(update=fields)
        made = Change(
            reference=call.reference, item_id=item_id, request=changes, item=self.items[item_id]
        )
        self._changes.setdefault(call.reference, []).append(made)
        return made.item

    async def changes_made(self, call: Call) -> list[Change]:
        return self._changes.get(call.reference, [])

    async def delete(self, item_id: str, call: Call) -> Item:
        if call.reference not in self._by_key:
            self._by_key[call.reference] = await self.find(item_id, call)
            del self.items[item_id]
        return self._by_key[call.reference]

    async def notify(self, item_id: str, message: str, call: Call) -> Accepted:
        await self.find(item_id, call)
        self.notices.append((item_id, message))
        return Accepted(accepted=True)
