"""The example tools about items, on a fake backend: copy this file for a noun of yours."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from lib.contract import Found, RefusedError
from lib.tools.items import UpdateItem, update_item
from tests.tools.fake_items import FakeItems, call_under

type Perform = Callable[..., Any]

BOLT = {"name": "bolt", "quantity": 3}


def test_a_created_item_is_what_a_query_then_reads(perform: Perform) -> None:
    created = perform("create_item", under="a", **BOLT)
    assert created == {"id": "i1", "version": 1, **BOLT}
    assert perform("get_item", item_id="i1") == created


def test_an_item_created_twice_under_one_reference_is_one_item(perform: Perform) -> None:
    first, again, other = (perform("create_item", under=under, **BOLT) for under in "aab")
    assert first == again
    assert other["id"] != first["id"]


def test_an_update_leaves_what_it_does_not_name(perform: Perform) -> None:
    perform("create_item", under="a", **BOLT)
    updated = perform("update_item", under="b", item_id="i1", quantity=0)
    assert updated == {"id": "i1", "name": "bolt", "quantity": 0, "version": 2}


def test_what_an_update_stored_can_be_asked_for_with_its_own_arguments(
    perform: Perform, items: FakeItems
) -> None:
    async def ask(reference: str) -> list[Found[UpdateItem]]:
        declared = update_item(items)
        assert declared.ask is not None
        return await declared.ask(call_under(reference))

    perform("create_item", under="a", **BOLT)
    perform("update_item", under="b", item_id="i1", name="nut")
    (found,) = asyncio.run(ask("b"))
    assert found.arguments == UpdateItem(item_id="i1", name="nut")
    assert found.result.model_dump() == perform("get_item", item_id="i1")
    assert asyncio.run(ask("c")) == []


def test_a_deleted_item_is_gone_and_the_answer_shows_what_it_was(perform: Perform) -> None:
    created = perform("create_item", under="a", **BOLT)
    assert perform("delete_item", under="b", item_id="i1") == created
    with pytest.raises(RefusedError, match="not_found"):
        perform("get_item", item_id="i1")


def test_a_notice_is_sent_about_an_item_that_exists(perform: Perform, items: FakeItems) -> None:
    perform("create_item", under="a", **BOLT)
    sent = perform("send_notice", under="b", item_id="i1", message="Back in stock\n\N{WAVY DASH}")
    assert sent == {"accepted": True}
    with pytest.raises(RefusedError, match="not_found"):
        perform("send_notice", under="c", item_id="i2", message="?")
    assert items.notices == [("i1", "Back in stock\n\N{WAVY DASH}")]


def test_a_listing_goes_on_at_its_cursor_until_there_is_none(perform: Perform) -> None:
    for reference in "abc":
        perform("create_item", under=reference, **BOLT)
    first = perform("list_items", limit="2")  # a query converts what it is given
    rest = perform("list_items", limit=2, cursor=first["next_cursor"])
    assert [item["id"] for item in first["items"] + rest["items"]] == ["i1", "i2", "i3"]
    assert rest["next_cursor"] is None


def test_a_search_finds_a_part_of_the_name_in_any_case(perform: Perform) -> None:
    for reference, name in (("a", "Long bolt"), ("b", "nut")):
        perform("create_item", under=reference, name=name, quantity=1)
    assert [item["name"] for item in perform("search_items", text="BOLT")["items"]] == ["Long bolt"]


@pytest.mark.parametrize(
    ("name", "field", "values"),
    [
        ("get_item", "item_id", ["", "a" * 65, "a/b", "../a", "a\n", "ä"]),
        ("search_items", "text", ["", "x" * 201, "\ud800"]),
        ("list_items", "limit", [0, 101]),
        ("create_item", "name", ["", "n" * 65, "a\nb", "a\x7f", "\x9f", "\ud800", 7, None]),
        ("create_item", "quantity", [-1, 1_000_001, "3", 1.5, True, None]),
        ("update_item", "item_id", ["a b"]),
        ("send_notice", "message", ["", "m" * 501, "\udfff"]),
    ],
)
def test_a_value_outside_its_bounds_is_invalid_and_names_its_field(
    perform: Perform, name: str, field: str, values: list[Any]
) -> None:
    valid = {"item_id": "i1", "text": "t", "limit": 1, "message": "m", **BOLT}
    for value in values:
        with pytest.raises(ValidationError) as invalid:
            perform(name, under="a", **valid | {field: value})
        assert [error["loc"] for error in invalid.value.errors()] == [(field,)]


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("create_item", "name", "\N{WAVY DASH}" * 64),
        ("create_item", "name", " "),
        ("create_item", "quantity", 0),
        ("create_item", "quantity", 1_000_000),
    ],
)
def test_a_value_at_its_bound_is_kept_as_it_is(
    perform: Perform, name: str, field: str, value: object
) -> None:
    assert perform(name, under="a", **BOLT | {field: value})[field] == value


def test_an_update_that_changes_nothing_is_invalid_and_says_so(perform: Perform) -> None:
    for nothing in ({}, {"name": None, "quantity": None}):
        with pytest.raises(ValidationError) as invalid:
            perform("update_item", under="a", item_id="i1", **nothing)
        (error,) = invalid.value.errors()
        assert error["msg"] == "Give name, quantity, or both"
