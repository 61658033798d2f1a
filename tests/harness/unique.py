"""The fourth backend class, unique, as a tool: labels, whose reference no two of them share.

No tool of the template uses the sample service's /labels; tests do.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, Field

from lib.backend import connect
from lib.backend.items import MEANINGS
from lib.backend.wire import Wire
from lib.contract import BackendError, Call, Command, Lookup, OccurredError, Tool, Unique
from lib.settings import Settings
from lib.tools import catalogue
from lib.tools.items import ItemId


class AttachLabel(BaseModel):
    """The arguments of `attach_label`."""

    item_id: ItemId
    text: Annotated[str, Field(min_length=1, max_length=64)]


class Label(BaseModel):
    """A label as the service stores it."""

    id: str
    item_id: str
    text: str
    reference: str


class Labels:
    """The service's calls about labels."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def create(self, new: AttachLabel, call: Call) -> Label:
        """Create a label; where the service says `duplicate` it is there: fetch it."""
        try:
            return await self._wire.exchange(
                "POST /labels",
                Label,
                call,
                json=new.model_dump(),
                headers={"X-Reference": call.reference},
            )
        except OccurredError as fault:
            if fault.code != "duplicate":
                raise
            raise OccurredError("duplicate", result=await self._fetched(call)) from fault

    async def _fetched(self, call: Call) -> Label | None:
        try:
            return await self._wire.exchange(f"GET /labels/{call.reference}", Label, call)
        except BackendError:
            return None


def attach_label(labels: Labels) -> Command[AttachLabel, Label]:
    """Declare `attach_label`."""
    return Command(
        name="attach_label",
        toolset="labels",
        description="Put a label on an item.",
        arguments=AttachLabel,
        result=Label,
        perform=labels.create,
        backend=Unique(),
        destructive=False,
        target="the items service",
    )


def every_class(settings: Settings, *, settle_time: timedelta | None = None) -> Sequence[Tool]:
    """List the example's tools and one of class unique.

    Args: settle_time: what `update_item` declares instead of the example's 5 s.
    """
    backend = connect(read=settings.read_backend, write=settings.write_backend)
    tools = [*catalogue(backend)]
    tools.append(attach_label(Labels(Wire(settings.write_backend, MEANINGS))))
    return [_settling(tool, settle_time) for tool in tools]


def _settling(tool: Tool, settle_time: timedelta | None) -> Tool:
    if not isinstance(tool, Command) or not isinstance(tool.backend, Lookup) or not settle_time:
        return tool
    command: Command[Any, Any] = tool
    return replace(command, backend=Lookup(settle_time=settle_time))
