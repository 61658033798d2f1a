"""What the items adapter sends, and the same calls against the sample service on a socket."""

import asyncio
import gc
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import respx

from lib.backend.items import Accepted, Change, Changes, Item
from lib.contract import Call, PageArguments
from lib.dev import faults as wire_faults
from lib.dev.faulty import call
from lib.dev.items import Items as Service
from lib.dev.items import create_items
from lib.dev.serving import serve
from lib.tools.items import UpdateItem, update_item
from tests.protocol.backend_calls import (
    ANN,
    ASK,
    COMMAND,
    COMMANDS,
    EVERY,
    ITEM,
    QUERIES,
    QUERY,
    READ_TOKEN,
    REFERENCE,
    URL,
    WRITE_TOKEN,
    items_at,
    proof_of,
    proofs,
)

OTHER = Call(principal=ANN, timeout_s=5, reference="0f" * 32)
KEY, TAG = {"idempotency-key": REFERENCE}, {"x-reference": REFERENCE}
ON_THE_WIRE: dict[str, tuple[str, str, object, dict[str, str]]] = {
    "find": ("GET", "/items/i1", None, {}),
    "page": ("GET", "/items?limit=20", None, {}),
    "search": ("GET", "/items?limit=20&cursor=c+1&text=a%26b", None, {}),
    "create": ("POST", "/items", {"name": "bolt", "quantity": 3}, KEY),
    "change": ("PATCH", "/items/i1", {"quantity": 4}, TAG),
    "delete": ("DELETE", "/items/i1", None, KEY),
    "notify": ("POST", "/notices", {"item_id": "i1", "message": "hello"}, {}),
    "ask": ("GET", f"/operations/{REFERENCE}", None, {}),
}


def sent_by(name: str) -> list[httpx.Request]:
    """Perform a call twice over one adapter, whose backend tries to set a cookie."""

    async def run() -> None:
        items = items_at()
        for _ in range(2):
            await proof_of(EVERY[name](items))

    with respx.mock() as wire:
        wire.route().respond(503, headers={"Set-Cookie": "session=1"})
        asyncio.run(run())
        # respx leaves the element type of its list of calls open.
        return [cast("httpx.Request", made.request) for made in wire.calls]  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]


@pytest.mark.parametrize("name", EVERY)
def test_a_call_sends_its_reference_and_only_the_credential_it_needs(name: str) -> None:
    token = READ_TOKEN if name in QUERIES else WRITE_TOKEN
    requests = sent_by(name)
    assert len(requests) == 2
    for request in requests:
        body = json.loads(request.content) if request.content else None
        marks = {mark: request.headers[mark] for mark in KEY | TAG if mark in request.headers}
        path = str(request.url).removeprefix(URL)
        assert (request.method, path, body, marks) == ON_THE_WIRE[name]
        assert request.headers["authorization"] == f"Bearer {token}"
        assert "cookie" not in request.headers
        assert set(request.extensions["timeout"].values()) <= {
            request.extensions["timeout"]["read"]
        }
        assert 4.5 < request.extensions["timeout"]["read"] < 5


def stored(**changes: Any) -> httpx.Response:
    change = {"reference": REFERENCE, "item_id": "i1", "request": {"quantity": 4}, "item": ITEM}
    return httpx.Response(200, json=change | changes)


def test_what_is_stored_under_a_reference_is_none_one_or_at_least_two() -> None:
    one = Change.model_validate(stored().json())
    (found, many) = proofs(ASK, [stored(), stored(count=3)])["ask"]
    assert found == [one]
    assert many == [one.model_copy(update={"count": 3})] * 2


@pytest.mark.parametrize(
    "answer",
    [
        stored(reference="0f" * 32),
        stored(count=0),
        stored(request={"quantity": 4, "owner": "x"}),
        stored(request=None),
        stored(item=None),
    ],
)
def test_another_shape_than_a_change_of_ours_proves_nothing(answer: httpx.Response) -> None:
    silent = ("BackendSilentError", "answer_unreadable", None)
    assert proofs(ASK, [answer])["ask"] == [silent]


def test_a_404_that_is_not_the_services_own_does_not_prove_absence() -> None:
    pages = [httpx.Response(404, html="<h1>Not Found</h1>"), httpx.Response(404, json={})]
    assert proofs(ASK, pages)["ask"] == [("RefusedError", "refused", None)] * 2


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return create_items(tmp_path / "items.db", read_token=READ_TOKEN, write_token=WRITE_TOKEN)


@pytest.fixture
def url(service: Service) -> Generator[str]:
    with serve(service) as served:
        yield served.url


async def change(items: Any, item_id: str) -> object:
    return await proof_of(items.change(item_id, Changes(quantity=4), COMMAND))


def test_every_call_is_understood_by_the_sample_service(url: str) -> None:
    async def run() -> list[Any]:
        items = items_at(url)
        made = await items.create("bölt\N{WAVY DASH}", 3, COMMAND)
        again = await items.create("bölt\N{WAVY DASH}", 3, COMMAND)
        changed = await items.change(made.id, Changes(name="nut"), COMMAND)
        told = [made, again, changed, await items.notify(made.id, "a\nb", COMMAND)]
        told += [await items.find(made.id, QUERY)]
        told += [await items.page(PageArguments(limit=1), QUERY, text="NU")]
        told += [await items.delete(made.id, OTHER)]
        return [*told, await proof_of(items.find(made.id, QUERY))]

    made, again, changed, sent, found, page, deleted, gone = asyncio.run(run())
    assert made == again == Item(id=made.id, name="bölt\N{WAVY DASH}", quantity=3, version=1)
    assert changed == found == deleted == Item(id=made.id, name="nut", quantity=3, version=2)
    assert (page.items, page.next_cursor, sent) == ([found], None, Accepted(accepted=True))
    assert gone == ("RefusedError", "not_found", None)


def test_a_change_whose_answer_was_lost_is_found_with_the_arguments_that_made_it(
    url: str, service: Service
) -> None:
    async def run() -> list[Any]:
        items = items_at(url)
        update = update_item(items)
        assert update.ask is not None
        item = await items.create("bolt", 3, OTHER)
        before = await update.ask(COMMAND)
        service.faults.plan(wire_faults.AnswerLost(), on=call("PATCH"))
        lost = await change(items, item.id)
        return [item, before, lost, await update.ask(COMMAND)]

    item, before, lost, (found,) = asyncio.run(run())
    assert (before, lost) == ([], ("BackendSilentError", "connection_lost", None))
    assert found.arguments == UpdateItem(item_id=item.id, quantity=4)
    assert found.result == item.model_copy(update={"quantity": 4, "version": 2})


def test_a_change_that_landed_twice_is_found_twice(url: str, service: Service) -> None:
    async def run() -> list[Any]:
        items = items_at(url)
        update = update_item(items)
        assert update.ask is not None
        item = await items.create("bolt", 3, OTHER)
        service.faults.plan(wire_faults.DeliveredTwice(), on=call("PATCH"))
        await change(items, item.id)
        return await update.ask(COMMAND)

    first, second = asyncio.run(run())
    assert first == second
    assert len(service.faults.fired) == 1


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (wire_faults.ResetBefore(), ("BackendSilentError", "connection_lost", None)),
        (wire_faults.AnswerLost(is_reset=True), ("BackendSilentError", "connection_lost", None)),
        (wire_faults.bad_gateway("after"), ("BackendSilentError", "unclear", None)),
        (wire_faults.unavailable("after"), ("BackendSilentError", "unavailable", None)),
        (wire_faults.rate_limited(7), ("NotExecutedError", "rate_limited", 7_000)),
        (wire_faults.HalfAnswer(), ("OccurredError", "answer_unreadable", None)),
        (wire_faults.UnreadableBody(), ("OccurredError", "answer_unreadable", None)),
    ],
)
def test_a_fault_of_the_wire_proves_what_its_row_says_and_a_retry_makes_one_item(
    url: str, service: Service, fault: wire_faults.Fault, told: object
) -> None:
    async def run() -> tuple[object, object]:
        items = items_at(url)
        service.faults.plan(fault)
        return await proof_of(COMMANDS["create"](items)), await COMMANDS["create"](items)

    first, again = asyncio.run(run())
    assert first == told
    assert isinstance(again, Item)
    assert service.effects().created == 1


def test_one_adapter_serves_several_loops_and_leaves_no_connection_behind(url: str) -> None:
    items = items_at(url)
    pages = [asyncio.run(items.page(PageArguments(), QUERY)) for _ in range(3)]
    gc.collect()  # an open connection of a loop that is gone would warn, and warnings fail
    assert [page.items for page in pages] == [[], [], []]


def test_twins_of_one_operation_make_one_item(url: str, service: Service) -> None:
    async def run() -> list[object]:
        items = items_at(url)
        return await asyncio.gather(*(proof_of(COMMANDS["create"](items)) for _ in range(20)))

    answers = asyncio.run(run())
    in_use = ("BackendSilentError", "key_in_use", 5_000)
    assert len({answer.id for answer in answers if isinstance(answer, Item)}) == 1
    assert all(isinstance(answer, Item) or answer == in_use for answer in answers)
    assert service.effects().created == 1
