"""What is the same call, and what is not.

Source: PROTOCOL §2; RFC 8785; powertools-lambda-python #638 and -typescript #2570 (key order
changed the hash), #1093 (a handler changed its input).
"""

import json
from decimal import Decimal
from enum import StrEnum
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from lib.machinery.runner.fingerprint import UnfitForJsonError, canonical, fingerprint

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
SCALAR = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | NUMBER | TEXT
JSON = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)


class Colour(StrEnum):
    RED = "red"


class Part(BaseModel):
    name: str
    count: int = 1


class Order(BaseModel):
    title: str
    weight: float = 0.0
    parts: list[Part] = Field(default_factory=list[Part])
    tags: set[str] = Field(default_factory=set[str])
    colour: Colour | None = None
    price: Decimal | None = None
    flag: bool | int | str | None = None


def of(text: str, tool: str = "create_order") -> str:
    return fingerprint(tool, Order.model_validate_json(text, strict=True, extra="forbid"))


def shuffled(value: Any) -> Any:
    if isinstance(value, dict):
        pairs = list(cast("dict[str, Any]", value).items())
        return {key: shuffled(inner) for key, inner in reversed(pairs)}
    return (
        [shuffled(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value
    )


@given(JSON)
def test_order_whitespace_and_escapes_do_not_matter(value: Any) -> None:
    respelled = json.loads(json.dumps(shuffled(value), indent=3, ensure_ascii=True))
    assert canonical(respelled) == canonical(value)


@given(JSON, JSON)
def test_different_values_stay_different(one: Any, other: Any) -> None:
    if canonical(one) == canonical(other):
        assert as_numbers(one) == as_numbers(other)


def as_numbers(value: Any) -> str:
    # JSON has one kind of number; booleans, strings and null are kinds of their own.
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return "{" + ",".join(sorted(f"{json.dumps(k)}:{as_numbers(v)}" for k, v in pairs)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(as_numbers(each) for each in cast("list[Any]", value)) + "]"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return json.dumps(value)
    return repr(float(value) + 0.0)  # no negative zero


SAME = {
    "key order": ('{"title":"a","weight":2}', '{"weight":2,"title":"a"}'),
    "whitespace": ('{"title":"a"}', '{ "title" :\n"a" }'),
    "an escape": ('{"title":"é"}', '{"title":"\\u00e9"}'),
    "a default spelled out": ('{"title":"a"}', '{"title":"a","weight":0,"parts":[],"colour":null}'),
    "a default inside": (
        '{"title":"a","parts":[{"name":"x"}]}',
        '{"title":"a","parts":[{"count":1,"name":"x"}]}',
    ),
    "a number's spelling in a float field": (
        '{"title":"a","weight":1e2}',
        '{"title":"a","weight":100}',
    ),
    "the order of a set": (
        '{"title":"a","tags":["x","y","z"]}',
        '{"title":"a","tags":["z","y","x"]}',
    ),
}
DIFFERENT = {
    "another value": ('{"title":"a"}', '{"title":"b"}'),
    "another letter case": ('{"title":"a"}', '{"title":"A"}'),
    "a composed and a decomposed letter": ('{"title":"\\u00e9"}', '{"title":"e\\u0301"}'),
    "true and one": ('{"title":"a","flag":true}', '{"title":"a","flag":1}'),
    "one and its text": ('{"title":"a","flag":1}', '{"title":"a","flag":"1"}'),
    "zero and the default null": ('{"title":"a","flag":0}', '{"title":"a"}'),
    "the order of a list": (
        '{"title":"a","parts":[{"name":"x"},{"name":"y"}]}',
        '{"title":"a","parts":[{"name":"y"},{"name":"x"}]}',
    ),
    "a part's count": (
        '{"title":"a","parts":[{"name":"x"}]}',
        '{"title":"a","parts":[{"name":"x","count":2}]}',
    ),
}


@pytest.mark.parametrize("what", SAME)
def test_a_difference_that_means_nothing_changes_nothing(what: str) -> None:
    one, other = SAME[what]
    assert of(one) == of(other)


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_difference_that_means_something_is_seen(what: str) -> None:
    one, other = DIFFERENT[what]
    assert of(one) != of(other)


def test_the_same_arguments_of_another_tool_differ() -> None:
    assert of('{"title":"a"}') != of('{"title":"a"}', tool="update_order")


def test_an_optional_argument_added_later_changes_no_fingerprint() -> None:
    later = create_model("Later", __base__=Order, note=(str | None, None))
    before = fingerprint("create_order", Order(title="a"))
    assert fingerprint("create_order", later(title="a")) == before


def test_false_is_not_taken_for_a_default_of_zero() -> None:
    loose = create_model("Loose", flag=(int | bool, 0))
    assert fingerprint("x", loose(flag=False)) != fingerprint("x", loose())


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 2**53, "\ud800", {"\udfff": 1}])
def test_what_json_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises(UnfitForJsonError):
        canonical(value)


def test_a_set_has_one_fingerprint_in_every_process() -> None:
    # Hash randomisation orders a set differently in each process; the digest is a constant.
    tags = '{"title":"a","tags":["alpha","beta","gamma","delta"]}'
    digest = "068c43a035e97fa469f35fc8eb3baf6672ceda1ae0928d1b84527f51d52827f5"
    assert of(tags) == digest
