"""Items: what a model may ask about them, and what it may do to them.

A tool is its argument model and one declaration; everything else follows from the two.
Source: DESIGN §4 and §5.
"""

from datetime import timedelta
from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from lib.backend.items import Changes, Item, Items
from lib.contract import Call, Command, Found, Keyed, Lookup, Page, PageArguments, Query

TOOLSET = "items"
TARGET = "the items service"
DAY_KEY = Keyed(window=timedelta(hours=24), sticky=False)

ItemId = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="An item's `id`, as listed")
]
Name = Annotated[
    str,
    Field(min_length=1, max_length=64, pattern=r"^[^\u0000-\u001F\u007F-\u009F]*$"),
]
Quantity = Annotated[int, Field(ge=0, le=1_000_000, description="How many are in stock")]


class OneItem(BaseModel):
    """The arguments of a tool about one item."""

    item_id: ItemId


def get_item(items: Items) -> Query[OneItem, Item]:
    """Declare `get_item`."""
    return Query(
        name="get_item",
        toolset=TOOLSET,
        description="Read one item by its id: name, quantity and version.",
        arguments=OneItem,
        result=Item,
        perform=lambda asked, call: items.find(asked.item_id, call),
    )


def list_items(items: Items) -> Query[PageArguments, Page[Item]]:
    """Declare `list_items`."""
    return Query(
        name="list_items",
        toolset=TOOLSET,
        description="List all items, oldest first, page by page. To find one by name, search.",
        arguments=PageArguments,
        result=Page[Item],
        perform=items.page,
    )


class SearchItems(PageArguments):
    """The arguments of `search_items`."""

    text: Annotated[str, Field(min_length=1, max_length=200, description="A part of the name")]


def search_items(items: Items) -> Query[SearchItems, Page[Item]]:
    """Declare `search_items`."""
    return Query(
        name="search_items",
        toolset=TOOLSET,
        description="Find the items whose name contains a text, in upper or lower case.",
        arguments=SearchItems,
        result=Page[Item],
        perform=lambda asked, call: items.page(asked, call, text=asked.text),
    )


class CreateItem(BaseModel):
    """The arguments of `create_item`."""

    name: Name
    quantity: Quantity


def create_item(items: Items) -> Command[CreateItem, Item]:
    """Declare `create_item`."""
    return Command(
        name="create_item",
        toolset=TOOLSET,
        description="Create an item; the answer shows it with its new id. Names may repeat.",
        arguments=CreateItem,
        result=Item,
        perform=lambda new, call: items.create(new.name, new.quantity, call),
        backend=DAY_KEY,
        destructive=False,
        target=TARGET,
    )


class UpdateItem(BaseModel):
    """The arguments of `update_item`."""

    item_id: ItemId
    name: Name | None = None
    quantity: Quantity | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.name is None and self.quantity is None:
            raise PydanticCustomError("nothing_to_change", "Give name, quantity, or both")
        return self


def update_item(items: Items) -> Command[UpdateItem, Item]:
    """Declare `update_item`."""

    async def change(asked: UpdateItem, call: Call) -> Item:
        changes = Changes(name=asked.name, quantity=asked.quantity)
        return await items.change(asked.item_id, changes, call)

    async def ask(call: Call) -> list[Found[UpdateItem]]:
        made = await items.changes_made(call)
        return [
            Found(
                arguments=UpdateItem(item_id=one.item_id, **one.request.model_dump()),
                result=one.item,
            )
            for one in made
        ]

    return Command(
        name="update_item",
        toolset=TOOLSET,
        description="Overwrite an item's name, its quantity, or both. What is left out stays.",
        arguments=UpdateItem,
        result=Item,
        perform=change,
        backend=Lookup(settle_time=timedelta(seconds=5)),
        ask=ask,
        destructive=True,
        target=TARGET,
    )


def delete_item(items: Items) -> Command[OneItem, Item]:
    """Declare `delete_item`."""
    return Command(
        name="delete_item",
        toolset=TOOLSET,
        description="Delete an item for good; the answer shows what it was. A person must agree.",
        arguments=OneItem,
        result=Item,
        perform=lambda asked, call: items.delete(asked.item_id, call),
        backend=DAY_KEY,
        destructive=True,
        target=TARGET,
        approval=True,
    )
