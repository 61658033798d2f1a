"""Notices: messages about an item that leave for the people who follow it.

The one tool here whose backend keeps no key and cannot be asked: sent at most once, and where no
answer comes back only a person can find out.
"""

from typing import Annotated

from pydantic import BaseModel, Field

from lib.backend.items import Accepted, Items
from lib.contract import Command, Unaskable
from lib.tools.items import TARGET, TOOLSET, ItemId


class SendNotice(BaseModel):
    """The arguments of `send_notice`."""

    item_id: ItemId
    message: Annotated[str, Field(min_length=1, max_length=500)]


def send_notice(items: Items) -> Command[SendNotice, Accepted]:
    """Declare `send_notice`."""
    return Command(
        name="send_notice",
        toolset=TOOLSET,
        description="Send a message about an item to the people who follow it. It cannot be"
        " taken back.",
        arguments=SendNotice,
        result=Accepted,
        perform=lambda notice, call: items.notify(notice.item_id, notice.message, call),
        backend=Unaskable(),
        destructive=False,
        target=TARGET,
        open_world=True,
    )
