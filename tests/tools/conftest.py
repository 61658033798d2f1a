"""How a tool is tried: by its name, with arguments as a model would send them."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lib.backend import connect
from lib.contract import Command, Tool
from lib.tools import catalogue
from tests.tools.fake_items import FakeItems, call_under


@pytest.fixture
def items() -> FakeItems:
    return FakeItems()


@pytest.fixture
def tools(items: FakeItems) -> dict[str, Tool]:
    return {tool.name: tool for tool in catalogue(replace(connect(), items=items))}


@pytest.fixture
def perform(tools: dict[str, Tool]) -> Callable[..., Any]:
    """Perform a tool, a command under a reference; the answer is its result as plain JSON."""

    def perform_one(name: str, /, *, under: str = "", **arguments: Any) -> Any:
        tool = tools[name]
        asked = tool.arguments.model_validate(arguments, strict=isinstance(tool, Command))

        async def run() -> Any:
            result = await tool.perform(asked, call_under(under))
            return result.model_dump(mode="json")

        return asyncio.run(run())

    return perform_one
