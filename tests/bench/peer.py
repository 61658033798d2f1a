"""FastMCP's newest with one query, stateless over HTTP with JSON answers."""

from fastmcp import FastMCP
from pydantic import BaseModel

from tests.bench.items import ITEM


class Item(BaseModel):
    """An item."""

    id: str
    name: str
    quantity: int
    version: int


mcp = FastMCP("peer")


@mcp.tool
async def get_item(item_id: str) -> Item:
    """Read one item by its id."""
    return Item(**{**ITEM, "id": item_id})


app = mcp.http_app(stateless_http=True, json_response=True)
