"""Tools whose adapter is as odd as anyone's may be: one command, one query, and what they do."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from lib.contract import BackendClass, Command, Found, Query, Unaskable


class Asked(BaseModel):
    """The arguments."""

    name: str = "lamp"


class Done(BaseModel):
    """The result."""

    id: str = "1"


type Does = Callable[..., Awaitable[Any]]


def command(
    does: Does,
    *,
    backend: BackendClass | None = None,
    arguments: type[BaseModel] = Asked,
    result: type[BaseModel] = Done,
    ask: Does | None = None,
) -> Command[Any, Any]:
    """Declare `send_thing`; of class none unless it says more."""
    return Command(
        name="send_thing",
        toolset="things",
        description="Send a thing.",
        arguments=arguments,
        result=result,
        perform=does,
        backend=backend or Unaskable(),
        destructive=False,
        target="the things service",
        ask=ask,
    )


def query(
    does: Does, *, arguments: type[BaseModel] = Asked, result: type[BaseModel] = Done
) -> Query[Any, Any]:
    """Declare `get_thing`."""
    return Query(
        name="get_thing",
        toolset="things",
        description="Get a thing.",
        arguments=arguments,
        result=result,
        perform=does,
    )


def giving(value: object) -> Does:
    """Answer with a value."""

    async def does(*_: Any) -> Any:
        return value

    return does


def found(result: object) -> Does:
    """Show one effect, made with the arguments that nobody spelled out."""
    return giving([Found(arguments=Asked(), result=result)])  # pyright: ignore[reportArgumentType]


def raising(fault: BaseException) -> Does:
    """End in an exception."""

    async def does(*_: Any) -> Any:
        raise fault

    return does


async def awaiting_what_another_cancelled(*_: Any) -> Any:
    """Share work with somebody whose call was cancelled, as an unshielded token refresh is."""
    shared = asyncio.get_running_loop().create_future()
    shared.cancel()
    return await shared
