"""FastMCP's newest with one query, stateless over HTTP with JSON answers; of the group `peers`."""

from importlib import import_module
from typing import Any

from pydantic import BaseModel

from tests.bench.items import ITEM

fastmcp: Any = import_module("fastmcp")  # types are checked without the group


class Item(BaseModel):
    """An item."""

    id: str
    name: str
    quantity: int
    version: int


async def get_item(item_id: str) -> Item:
    """Read one item by its id."""
    return Item.model_validate({**ITEM, "id": item_id})


mcp = fastmcp.FastMCP("peer")
mcp.tool(get_item)
app = mcp.http_app(stateless_http=True, json_response=True)
