"""SIGKILL of the real server at every seam, for every backend class, and what the retries find.

Source: PROTOCOL §1 (promises), §10.4 (seams).
"""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import pytest

from lib.dev.engine import Engine
from lib.dev.faulty import call
from tests.crash.kills import CELLS, TARGET, TIMES, VICTIM, Cell, Story, killed_everywhere
from tests.harness.kinds import new_item, notices
from tests.harness.nursery import Nursery
from tests.harness.seams import Stopped
from tests.harness.stack import Stack, running_stack

SETTLED = ("outcome", "side_effect", "result", "operation_id", "error", "recorded", "retry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The parts that all kills share, and what became of each killed command."""

    stack: Stack
    stories: Mapping[str, Story]


@pytest.fixture(scope="session")
def scene(
    engine: Engine, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    with running_stack(engine, tmp_path_factory.mktemp("kills")) as stack:
        yield Scene(stack=stack, stories=asyncio.run(killed_everywhere(nursery, stack)))


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.key)
def test_a_command_killed_there_ends_as_its_class_can_prove(scene: Scene, cell: Cell) -> None:
    story = scene.stories[cell.key]
    assert (story.was_killed, story.was_answered) == (True, False)
    last, effects = story.told[-1], cell.kind.effects(scene.stack, cell.key)
    assert (last["outcome"], last["this_call"], effects) == cell.expects, story.told


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.key)
def test_a_settled_answer_stays_and_get_operation_agrees_with_it(scene: Scene, cell: Cell) -> None:
    story = scene.stories[cell.key]
    last = story.told[-1]
    assert {name: story.again[name] for name in SETTLED} == {name: last[name] for name in SETTLED}
    assert {name: story.known[name] for name in SETTLED} == {name: last[name] for name in SETTLED}
    assert len({each["operation_id"] for each in story.told}) == 1


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.key)
def test_no_retry_says_more_than_is_true_on_the_way(scene: Scene, cell: Cell) -> None:
    for told in scene.stories[cell.key].told[:-1]:
        assert told["outcome"] in {"in_progress", "in_doubt"}
        assert (told["side_effect"], told["retry"]["advice"]) == ("unknown", "same_key")


@pytest.mark.parametrize("path", ["/items", "/notices"])
def test_the_unguarded_control_has_two_effects(scene: Scene, nursery: Nursery, path: str) -> None:
    stack, text = scene.stack, f"unguarded{path}"
    item_id = new_item(stack, "unguarded")
    notice = {"item_id": item_id, "message": text}
    body = {"name": text, "quantity": 1} if path == "/items" else notice
    stop, asked = Stopped(executes="first"), {"path": path, "body": body}
    stack.items.faults.plan(stop, on=call("POST", path))
    env = stack.env(**TIMES, **VICTIM)
    with nursery.server(env, target=TARGET) as victim, ThreadPoolExecutor() as pool:
        lost = pool.submit(httpx.post, f"{victim.url}/unguarded", json=asked, timeout=30)
        assert stop.reached.wait(5)
        victim.kill()
    stop.released.set()
    assert (victim.was_killed, type(lost.exception())) == (True, httpx.RemoteProtocolError)
    with nursery.server(env, target=TARGET) as heir:
        assert httpx.post(f"{heir.url}/unguarded", json=asked, timeout=30).is_success
    written = [text in each.answer for each in stack.written]
    told = [each["message"] == text for each in notices(stack)]
    assert sum(written) + sum(told) == 2
