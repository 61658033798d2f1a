"""Yours: queries and commands, one file per noun. Knows the domain; imports contract, backend.

How a call is admitted, kept, settled and shown to a model is the machinery's side of the contract.
"""

from lib.backend import Backend
from lib.contract import Command, Tool
from lib.tools.items import (
    create_item,
    delete_item,
    get_item,
    list_items,
    search_items,
    update_item,
)
from lib.tools.notices import send_notice


def catalogue(backend: Backend) -> tuple[Tool, ...]:
    """List every tool in listing order: the queries, then the commands, each by name."""
    items = backend.items
    tools: list[Tool] = [
        get_item(items),
        list_items(items),
        search_items(items),
        create_item(items),
        update_item(items),
        delete_item(items),
        send_notice(items),
    ]
    return tuple(sorted(tools, key=lambda tool: (isinstance(tool, Command), tool.name)))
