"""Settle with tools that answer from memory: what is left is the machinery."""

import logging
import time
from dataclasses import replace
from datetime import timedelta
from secrets import token_hex

from pydantic import BaseModel
from starlette.applications import Starlette

from lib.machinery.loading import loading
from tests.bench.items import ITEM

with loading("lib.machinery.app"):  # as api/ does
    from lib.contract import Call, Command, Keyed, Query, Tool
    from lib.machinery.app import create_app
    from lib.machinery.deployment import Ambient
    from lib.machinery.logs import open_logs
    from lib.machinery.platform import platform_end
    from lib.machinery.runner.deadline import Clock
    from lib.settings import read_settings

EFFECTS: list[str] = []  # the reference of each command that was performed


class OneItem(BaseModel):
    """The arguments of the query."""

    item_id: str


class NewItem(BaseModel):
    """The arguments of the command."""

    name: str
    quantity: int


class Item(BaseModel):
    """What both answer."""

    id: str
    name: str
    quantity: int
    version: int


async def find(asked: OneItem, _call: Call) -> Item:
    """Answer from memory."""
    return Item.model_validate({**ITEM, "id": asked.item_id})


async def create(new: NewItem, call: Call) -> Item:
    """Count the effect, and answer from memory."""
    EFFECTS.append(call.reference)
    return Item(id="a1", name=new.name, quantity=new.quantity, version=1)


def tools(count: int) -> list[Tool]:
    """Declare one query and one command, and the query again under more names."""
    query = Query(
        name="get_item",
        toolset="items",
        description="Read one item by its id.",
        arguments=OneItem,
        result=Item,
        perform=find,
    )
    command = Command(
        name="create_item",
        toolset="items",
        description="Create an item.",
        arguments=NewItem,
        result=Item,
        perform=create,
        backend=Keyed(window=timedelta(hours=24), sticky=False),
        destructive=False,
        target="memory",
    )
    more = [replace(query, name=f"get_item_{number}") for number in range(count - 2)]
    return [query, command, *more]


class Unread:
    """Where the audit lines go: a stream that keeps nothing."""

    def write(self, _text: str) -> None:
        """Take a line that was formatted like any other."""

    def flush(self) -> None:
        """Do nothing."""


def memory_app(count: int = 2) -> Starlette:
    """Build the application as `api/index.py` does, with these tools."""
    logging.getLogger("settle").addHandler(logging.StreamHandler(Unread()))
    open_logs()
    return create_app(
        read_settings(),
        tools(count),
        Ambient(
            clock=Clock(steady=time.monotonic, wall=time.time),  # noqa: TID251  as api/ does
            new_id=lambda: token_hex(16),
            platform_end=platform_end,
        ),
    )
