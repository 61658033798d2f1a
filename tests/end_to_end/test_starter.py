"""The template as a starter: each documented way to make it yours, taken step by step in a copy.

The code comes from README.md and docs/STARTER.md; only where it goes is said here.
"""

import sys
from pathlib import Path

import httpx
import pytest

from tests.harness.servers import ROOT, running_server
from tests.harness.stack import WRITE_TOKEN, Stack
from tests.harness.starter import (
    add_after,
    apply,
    check,
    reached_by_a_removal,
    run,
    run_suite,
    section,
)
from tests.harness.tree import copy_tree_with_environment
from tests.harness.wire import Mcp

README, STARTER = ROOT / "README.md", ROOT / "docs" / "STARTER.md"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copy_tree_with_environment(tmp_path / "tree")


async def test_a_noun_a_query_and_a_command_are_added_by_the_documents(
    stack: Stack, tree: Path
) -> None:
    add_noun(tree)
    add_query_and_command(tree)
    check(tree)
    with running_server(stack.env(MAX_DURATION_S="20"), cwd=tree) as server:
        await copy_an_item(stack, server.url)
        await put_a_label(stack, server.url)


@pytest.mark.whole
def test_the_whole_suite_passes_with_a_noun_a_query_and_a_command_more(tree: Path) -> None:
    add_noun(tree)
    add_query_and_command(tree)
    check(tree)
    run_suite(tree)


async def test_the_example_is_removed_once_a_noun_of_your_own_works(
    stack: Stack, tree: Path
) -> None:
    add_noun(tree)
    remove_example(tree)
    check(tree, *reached_by_a_removal(tree))
    run(tree, sys.executable, "-m", "pytest", "-q", "-n0")  # all of the suite that is left
    with running_server(stack.env(MAX_DURATION_S="20"), cwd=tree) as server:
        await put_a_label(stack, server.url)


def add_query_and_command(tree: Path) -> None:
    (query,) = section(README, "### Add a query").blocks("python")
    (command,) = section(README, "### Add a command").blocks("python")
    noun = tree / "lib" / "tools" / "items.py"
    noun.write_text(f"{noun.read_text()}\n\n{query}\n\n{command}")
    add_after(
        tree,
        "lib/tools/__init__.py",
        {
            "    create_item,\n": "    create_spare,\n",
            "    list_items,\n": "    list_spares,\n",
            "        list_items(items),\n": "        list_spares(items),\n",
            "        create_item(items),\n": "        create_spare(items),\n",
        },
    )


def add_noun(tree: Path) -> None:
    steps = section(STARTER, "## A noun of your own")
    backend, tools = steps.blocks("python")
    (lists,) = steps.blocks("diff")
    (tree / "lib" / "backend" / "labels.py").write_text(backend)
    (tree / "lib" / "tools" / "labels.py").write_text(tools)
    apply(tree, lists)


def remove_example(tree: Path) -> None:
    steps = section(STARTER, "## Without the example")
    (commands,), (lists,) = steps.blocks("sh"), steps.blocks("diff")
    run(tree, "/bin/sh", "-ec", commands)
    apply(tree, lists)


async def copy_an_item(stack: Stack, url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=30) as http:
        mcp = Mcp(http=http)
        first, again = [
            await mcp.settle("create_spare", item_id="i1", idempotency_key="k") for _ in "12"
        ]
        spares = await mcp.call("list_spares", item_id="i1")
    assert (first["outcome"], again["this_call"]) == ("succeeded", "replayed")
    assert spares["structuredContent"] == {"items": [first["result"]], "next_cursor": None}
    assert stack.items.effects().created == 1


async def put_a_label(stack: Stack, url: str) -> None:
    bearer = {"Authorization": f"Bearer {WRITE_TOKEN}", "Idempotency-Key": "to-label"}
    async with httpx.AsyncClient(base_url=stack.items_url, headers=bearer) as service:
        item = (await service.post("/items", json={"name": "lamp", "quantity": 1})).json()
    label = {"item_id": item["id"], "text": "fragile", "idempotency_key": "label"}
    async with httpx.AsyncClient(base_url=url, timeout=30) as http:
        mcp = Mcp(http=http)
        done, again = [await mcp.settle("create_label", **label) for _ in "12"]
        found = await mcp.call("get_label", reference=done["result"]["reference"])
    assert (done["outcome"], again["this_call"]) == ("succeeded", "replayed")
    assert found["structuredContent"] == done["result"]
    assert stack.items.effects().labels == 1
