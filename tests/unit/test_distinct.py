"""Two calls that differ are never taken for one, whatever types a tool declares.

Source: PROTOCOL §2. A dump may hide a value, shorten it or leave it out; a fingerprint may not.
"""

import json
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AwareDatetime,
    Base64Bytes,
    BaseModel,
    Discriminator,
    Field,
    HttpUrl,
    Json,
    JsonValue,
    PlainSerializer,
    RootModel,
    SecretBytes,
    SecretStr,
    Tag,
    computed_field,
    create_model,
    field_serializer,
    field_validator,
    model_serializer,
)

from lib.machinery.runner.fingerprint import IndistinctError, fingerprint


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    name: str = ""


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str = ""


class Short(BaseModel):
    name: str


class Long(BaseModel):
    name: str
    count: int = 1


class Size(Enum):
    SMALL = 1
    LARGE = "large"


class Rounded(BaseModel):
    weight: float

    @field_serializer("weight")
    def _round(self, weight: float) -> int:
        return round(weight)


class Silent(BaseModel):
    word: str

    @model_serializer
    def _nothing(self) -> dict[str, str]:
        return {}


class Excluding(BaseModel):
    word: str = Field(default="", exclude=True)


class Counted(BaseModel):
    word: str

    @computed_field
    @property
    def length(self) -> int:
        return len(self.word)


class Words(RootModel[list[str]]):
    pass


class First(BaseModel):
    words: list[str]

    @field_serializer("words")
    def _first(self, words: list[str]) -> list[str]:
        return words[:1]


class Parsed(BaseModel):
    words: list[str]

    @field_validator("words", mode="before")
    @classmethod
    def _split(cls, sent: str) -> list[str]:
        return sent.split(",")  # of its own output it can make nothing


DIFFERENT: dict[str, tuple[Any, Any, Any]] = {
    "a computed field": (Counted, {"word": "ab"}, {"word": "cd"}),
    "a root": (Words, ["a", "b"], ["b", "a"]),
    "models with a default tag": (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        {"kind": "cat", "name": "x"},
        {"kind": "dog", "name": "x"},
    ),
    "models that a default tells apart": (
        Short | Long,
        {"name": "x"},
        {"name": "x", "count": 1},
    ),
    "models told apart by a function": (
        Annotated[
            Annotated[Short, Tag("s")] | Annotated[Long, Tag("l")],
            Discriminator(lambda sent: "l" if "count" in sent else "s"),
        ],
        {"name": "x"},
        {"name": "x", "count": 1},
    ),
    "a decimal's digits": (Decimal, "1.0", "1.00"),
    "a microsecond": (timedelta, "PT1.000001S", "PT1S"),
    "no offset": (datetime, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00"),
    "an instant": (AwareDatetime, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
    "a time": (time, "10:00:00", "10:00:01"),
    "bytes that are no text": (Base64Bytes, "/w==", "/g=="),
    "an identifier": (UUID, "0" * 31 + "1", "0" * 32),
    "an address": (HttpUrl, "https://u:a@x.example/", "https://u:b@x.example/"),
    "members": (Size, 1, "large"),
    "literals": (Literal[1, "1"], 1, "1"),
    "true and one": (bool | int, True, 1),
    "anything": (Any, {"a": [1]}, {"a": ["1"]}),
    "any JSON": (JsonValue, {"a": None}, {}),
    "keys that are numbers": (dict[int, int], {"1": 1}, {"10": 1}),
    "JSON inside a string": (Json[list[int]], "[1]", "[2]"),
    "a sequence": (Sequence[Decimal], ["1"], ["2"]),
    "days": (dict[str, date], {"a": "2026-01-01"}, {"b": "2026-01-01"}),
}
REFUSED: dict[str, tuple[Any, Any]] = {
    "a secret": (SecretStr, "one"),
    "secret bytes": (SecretBytes, "one"),
    "a serializer": (Annotated[str, PlainSerializer(len)], "one"),
    "a field's serializer": (Rounded, {"weight": 1.1}),
    "a model's serializer": (list[Silent], [{"word": "a"}]),
    "a list that is shortened": (First, {"words": ["a", "b"]}),
    "what is read in another form than it is written": (Parsed, {"words": "a,b"}),
    "an excluded field": (Excluding, {"word": "a"}),
}


def digest(annotation: Any, sent: Any) -> str:
    model = create_model("Sent", value=(annotation, ...))
    text = json.dumps({"value": sent})
    return fingerprint("x", model.model_validate_json(text, strict=True, extra="forbid"))


@pytest.mark.parametrize("what", DIFFERENT)
def test_values_that_a_tool_can_tell_apart_have_two_fingerprints(what: str) -> None:
    annotation, one, other = DIFFERENT[what]
    assert digest(annotation, one) != digest(annotation, other)
    assert digest(annotation, one) == digest(annotation, one)


@pytest.mark.parametrize("what", REFUSED)
def test_a_value_that_its_json_hides_has_none(what: str) -> None:
    with pytest.raises(IndistinctError):
        digest(*REFUSED[what])


WIDE = create_model(
    "Wide",
    flag=(bool | int | str | None, None),
    amount=(Decimal | None, None),
    day=(date | None, None),
    sizes=(dict[str, Size], Field(default_factory=dict)),
    pets=(list[Cat | Dog | Short | Long], Field(default_factory=list)),
    tags=(set[str], Field(default_factory=set)),
    free=(JsonValue, None),
)
WORD = st.sampled_from(["", "1", "cat", "large", "\0"])
SCALAR = st.none() | st.booleans() | st.integers(0, 2) | WORD
FREE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORD, inner, max_size=2)
)
PET = st.fixed_dictionaries(
    {"name": WORD}, optional={"kind": st.sampled_from(["cat", "dog"]), "count": st.integers(0, 2)}
)
SENT = st.fixed_dictionaries(
    {},
    optional={
        "flag": SCALAR,
        "amount": st.none() | st.sampled_from(["0", "1", "1.0"]),
        "day": st.none() | st.dates().map(str),
        "sizes": st.dictionaries(WORD, st.sampled_from([1, "large"]), max_size=2),
        "pets": st.lists(PET, max_size=2),
        "tags": st.lists(WORD, max_size=2),
        "free": FREE,
    },
)


@given(SENT, SENT)
def test_two_calls_share_a_fingerprint_if_and_only_if_the_tool_gets_the_same(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    got = [WIDE.model_validate_json(json.dumps(each), strict=True) for each in (one, other)]
    assert (fingerprint("x", got[0]) == fingerprint("x", got[1])) == (seen(got[0]) == seen(got[1]))


def seen(value: object) -> str:
    """Write a value so that a difference of type is one, and the order of names is none."""
    match value:
        case BaseModel():
            return f"{type(value).__name__}{seen(dict(value))}"
        case dict():
            pairs = cast("dict[object, object]", value).items()
            return f"{{{sorted((seen(key), seen(each)) for key, each in pairs)}}}"
        case list():
            return f"{[seen(each) for each in cast('list[object]', value)]}"
        case set():
            return f"set{sorted(seen(each) for each in cast('set[object]', value))}"
        case _:
            return repr(value)
