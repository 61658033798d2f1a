"""A declaration that contradicts itself fails at import, with one sentence of advice."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel

from lib.contract import (
    Call,
    Command,
    Found,
    Keyed,
    Lookup,
    Page,
    PageArguments,
    Query,
    Unaskable,
    Unique,
)
from lib.machinery.builtins import builtin_queries
from lib.machinery.catalogue import DeclarationError, catalogue_of


class Asked(BaseModel):
    order_id: str


class Order(BaseModel):
    id: str


async def perform(_asked: Any, _call: Call) -> Order:
    return Order(id="1")


async def ask(_call: Call) -> list[Found[Asked]]:
    return []


QUERY = Query(
    name="get_order",
    toolset="orders",
    description="Read an order.",
    arguments=Asked,
    result=Order,
    perform=perform,
)
COMMAND = Command(
    name="create_order",
    toolset="orders",
    description="Create an order.",
    arguments=Asked,
    result=Order,
    perform=perform,
    backend=Keyed(window=timedelta(hours=24), sticky=False),
    destructive=False,
    target="the order desk",
)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class KeyNamed(BaseModel):
    idempotency_key: str


class KeyAliased(BaseModel):
    key: str = Field(alias="idempotency_key")


class Computed(BaseModel):
    order_id: str = Field(default_factory=lambda: uuid4().hex)


class Hidden(BaseModel):
    order_id: str = Field(exclude=True)


class Listed(RootModel[list[str]]):
    pass


def plain(_asked: Any, _call: Call) -> Order:
    return Order(id="1")


LOOKUP = Lookup(settle_time=timedelta(seconds=5))
CONTRADICTIONS: dict[str, tuple[Any, str]] = {
    "a command's verb on a query": (replace(QUERY, name="create_order"), "belongs to a Command"),
    "a query's verb on a command": (replace(COMMAND, name="get_order"), "belongs to a Query"),
    "no verb": (replace(QUERY, name="thing_get"), "begin the name with one of the verbs"),
    "no noun": (replace(QUERY, name="get"), "name it verb_noun"),
    "characters outside SEP-986": (replace(QUERY, name="get_ördér"), "SEP-986"),
    "a name too long": (replace(QUERY, name="get_" + "x" * 128), "SEP-986"),
    "no description": (replace(QUERY, description=" "), "write a description"),
    "no toolset": (replace(QUERY, toolset=""), "name its toolset"),
    "arguments that are no model": (replace(QUERY, arguments=dict), "pydantic model"),
    "arguments without names": (replace(QUERY, arguments=Listed), "named fields"),
    "arguments that take anything": (replace(COMMAND, arguments=Open), "only declared fields"),
    "a result that lets anything out": (replace(QUERY, result=Open), "only declared fields"),
    "an argument named idempotency_key": (
        replace(COMMAND, arguments=KeyNamed),
        "remove the argument idempotency_key",
    ),
    "an argument aliased idempotency_key": (
        replace(COMMAND, arguments=KeyAliased),
        "remove the argument idempotency_key",
    ),
    "a default that differs at each call": (
        replace(COMMAND, arguments=Computed),
        "give order_id a constant default",
    ),
    "an argument that dumps leave out": (replace(COMMAND, arguments=Hidden), "excluded from dumps"),
    "a function that is not async": (replace(QUERY, perform=plain), "make perform an async"),
    "no function": (replace(QUERY, perform=None), "make perform an async"),
    "a page without its arguments": (replace(QUERY, result=Page[Order]), "takes PageArguments"),
    "page arguments without a page": (replace(QUERY, arguments=PageArguments), "answers a Page"),
    "a command without a backend class": (
        replace(COMMAND, backend=None),
        "declare its backend class",
    ),
    "a command without a target": (replace(COMMAND, target=""), "name its target"),
    "a command that answers a page": (replace(COMMAND, result=Page[Order]), "not a Page"),
    "a class that is asked, without a way": (replace(COMMAND, backend=LOOKUP), "with ask"),
    "a keyed class that is asked, without a way": (
        replace(
            COMMAND,
            backend=Keyed(window=timedelta(days=1), sticky=False, lookup=timedelta(seconds=1)),
        ),
        "with ask",
    ),
    "a way to ask a class that is never asked": (replace(COMMAND, ask=ask), "drop ask"),
    "a way to ask where nothing is kept": (
        replace(COMMAND, backend=Unaskable(), ask=ask),
        "drop ask",
    ),
    "a duration of nothing": (
        replace(COMMAND, backend=Lookup(settle_time=timedelta(0)), ask=ask),
        "durations above zero",
    ),
    "a time to settle that outlives its record": (
        replace(COMMAND, backend=Lookup(settle_time=timedelta(days=90)), ask=ask),
        "below the 90 days",
    ),
    "an asked key's time to settle that outlives its record": (
        replace(
            COMMAND,
            backend=Keyed(window=timedelta(days=99), sticky=True, lookup=timedelta.max),
            ask=ask,
        ),
        "below the 90 days",
    ),
    "something else than a tool": (object(), "declare one of them"),
    "a name the machinery has": (replace(QUERY, name="get_operation"), "taken by another tool"),
}


@pytest.mark.parametrize("contradiction", CONTRADICTIONS)
def test_a_contradiction_is_told_in_one_sentence(contradiction: str) -> None:
    tool, says = CONTRADICTIONS[contradiction]
    with pytest.raises(DeclarationError) as refused:
        catalogue_of([tool], builtin_queries())
    told = str(refused.value)
    assert says in told
    assert told.endswith(".")
    assert "\n" not in told


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(DeclarationError, match="taken by another tool"):
        catalogue_of([QUERY, replace(QUERY)])


def test_every_backend_class_may_be_declared() -> None:
    asked = replace(COMMAND, name="update_order", backend=LOOKUP, ask=ask)
    tools = [
        COMMAND,
        asked,
        replace(COMMAND, name="send_order", backend=Unaskable()),
        replace(COMMAND, name="book_order", backend=Unique()),
    ]
    names = [tool.name for tool in catalogue_of(tools).tools]
    assert names == ["book_order", "create_order", "send_order", "update_order"]
