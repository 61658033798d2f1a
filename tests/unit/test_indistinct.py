"""A declaration whose calls could be taken for one another is refused, saying what to change.

Source: PROTOCOL §2.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    create_model,
)

from lib.machinery.arguments import indistinct
from lib.machinery.runner.fingerprint import UnfitForJsonError, fingerprint


@dataclass
class Derived:
    x: int

    def __post_init__(self) -> None:
        self.y = self.x


class Private(BaseModel):
    _word: str = PrivateAttr(default="")


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")


class Hidden(BaseModel):
    word: str = Field(exclude=True)


class HiddenWhen(BaseModel):
    word: str = Field(exclude_if=lambda word: word == "")


class Fresh(BaseModel):
    word: str = Field(default_factory=lambda: "now")


class Endless(BaseModel):
    weight: float = float("inf")
    count: list[int] = [2**60]


class Handle:
    """A type that only its author can compare."""


class Handled(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    handle: Handle


REFUSED: dict[str, tuple[Any, str]] = {
    "what is read only once": (Iterable[int], "make value a str"),
    "a type of one's own": (Handled, "make Handled.handle a str"),
    "a hidden field": (list[Hidden], "Hidden.word is excluded from dumps"),
    "a field hidden at times": (Hidden | HiddenWhen, "is excluded from dumps"),
    "a private attribute": (Private, "private attributes of Private"),
    "names nobody declared": (dict[str, Loose], 'remove extra="allow" from Loose'),
    "a computed default": (Fresh | None, "give Fresh.word a constant default"),
    "a default outside JSON": (Endless, "defaults that JSON can carry"),
    "what a dataclass makes of itself": (Derived, "make Derived a model"),
    "two types of one name": (
        create_model("Twin", a=(int, 1)) | create_model("Twin", b=(int, 1)),
        "rename one of the two types",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_could_be_taken_for_another_call_is_refused_in_one_sentence(what: str) -> None:
    annotation, says = REFUSED[what]
    told = indistinct(create_model("Sent", value=(annotation, ...)))
    assert says in (told or "")
    assert re.fullmatch(r"[^\n]+\.", told or "")


def test_a_type_that_was_not_declared_has_no_fingerprint() -> None:
    model = create_model("Sent", value=(Annotated[str, AfterValidator(lambda _: Handle())], ...))
    with pytest.raises(UnfitForJsonError):
        fingerprint("x", model(value="a"))
