"""What a declared argument may hold: the types at one place, read off its annotation.

A type stands here if two values of it that differ have two texts; every other one is unknown.
Source: PROTOCOL §2 (two calls that differ never share a fingerprint).
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    NotRequired,
    Required,
    TypeAliasType,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)
from uuid import UUID

from pydantic import (
    AwareDatetime,
    BaseModel,
    FutureDate,
    FutureDatetime,
    JsonValue,
    NaiveDatetime,
    PastDate,
    PastDatetime,
    SecretBytes,
    SecretStr,
)

NATIVE = frozenset[type]({NoneType, bool, int, float, str})
TEXTS = frozenset[type](
    {Decimal, UUID, date, datetime, time, timedelta, IPv4Address, IPv6Address, bytes}
)
SECRETS = frozenset[type]({SecretStr, SecretBytes})
STANDS_FOR: Mapping[Any, type] = {
    None: NoneType,
    AwareDatetime: datetime,
    NaiveDatetime: datetime,
    PastDatetime: datetime,
    FutureDatetime: datetime,
    PastDate: date,
    FutureDate: date,
}
# A container's annotation, and what validation makes of it. An iterable is read only once.
CONTAINERS: Mapping[Any, type] = {
    **{kind: kind for kind in (list, tuple, set, frozenset, dict)},
    Sequence: list,
    MutableSequence: list,
    AbstractSet: set,
    Mapping: dict,
    MutableMapping: dict,
}
NETWORKS = "pydantic.networks"
WRAPPERS = frozenset[Any]({Annotated, Required, NotRequired})


class Mixed:
    """One of several types, or any: a value's own type has to be written beside it."""


class Unknown:
    """A type of which no text is known."""


def types_at(annotation: Any) -> frozenset[type]:  # noqa: ANN401  an annotation is any object
    """Tell which types stand at a place and inside it; empty where a value has to say it."""
    types: set[type] = set()
    for each in walk(annotation):
        if not isinstance(each, type):
            return frozenset()
        types.add(each)
    return frozenset(types)


def walk(annotation: Any, within: tuple[Any, ...] = ()) -> Iterator[type | Mixed | Unknown]:  # noqa: ANN401
    """Walk an annotation, but not into the fields of models and dataclasses.

    Args: within: what is being walked already, so that a recursive type ends.
    """
    annotation = _unwrapped(annotation)
    if annotation in within:
        return
    yield from _here(annotation)
    for each in _inner(annotation):
        yield from walk(each, (*within, annotation))


def fields_of(kind: Any) -> Mapping[str, Any]:  # noqa: ANN401  pyright narrows a class to nothing
    """Name the fields of a model, a dataclass or a TypedDict, each with its annotation."""
    if issubclass(kind, BaseModel):
        return {name: field.annotation for name, field in kind.model_fields.items()}
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:  # a class of a function's own; what it is nobody can tell from here
        return {"?": Unknown()}
    if is_typeddict(kind):
        return hints
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def is_dataclass(kind: Any) -> bool:  # noqa: ANN401  an annotation is any object
    """Tell whether it is a dataclass itself, not one of its instances."""
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def is_url(kind: type) -> bool:
    """Tell one of pydantic's URLs, without importing them: few servers have any."""
    return kind.__module__ == NETWORKS and hasattr(kind, "unicode_string")


def _unwrapped(annotation: Any) -> Any:  # noqa: ANN401  as above
    while True:
        if annotation is JsonValue:  # which is recursive by name, and any JSON
            return Any
        if isinstance(annotation, TypeAliasType):
            annotation = annotation.__value__
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif get_origin(annotation) in WRAPPERS:
            annotation = get_args(annotation)[0]
        else:
            return annotation


def _here(annotation: Any) -> Iterator[type | Mixed | Unknown]:  # noqa: ANN401  as above
    kind = get_origin(annotation) or annotation
    if kind in (Union, UnionType, Literal):
        inner = get_args(annotation)
        types: set[Any] = {type(each) for each in inner} if kind is Literal else {*inner}
        if len(types - {NoneType}) > 1:
            yield Mixed()
        yield from types if kind is Literal else ()
    elif _is_in(kind, CONTAINERS):
        yield CONTAINERS[kind]
    elif is_typeddict(annotation):
        yield dict
    else:
        yield from _leaf(annotation)


def _inner(annotation: Any) -> Iterable[Any]:  # noqa: ANN401  as above
    kind = get_origin(annotation) or annotation
    if kind in (Union, UnionType):
        return get_args(annotation)
    if _is_in(kind, CONTAINERS):
        return [each for each in get_args(annotation) or (Any,) if each is not Ellipsis]
    return fields_of(annotation).values() if is_typeddict(annotation) else ()


def _leaf(annotation: Any) -> Iterator[type | Mixed | Unknown]:  # noqa: ANN401  as above
    if annotation is Any or annotation is object:
        yield Mixed()
    elif _is_in(annotation, STANDS_FOR):
        yield STANDS_FOR[annotation]
    elif not isinstance(annotation, type) or not _is_known(annotation):
        is_email = getattr(annotation, "__qualname__", "") == "EmailStr"
        yield str if is_email and annotation.__module__ == NETWORKS else Unknown()
    else:
        yield annotation
        if issubclass(annotation, Enum):  # which may stand there as its value
            values: set[type] = {type(each.value) for each in annotation}
            yield from values if values <= NATIVE else [Unknown()]


def _is_known(kind: type) -> bool:
    is_named = kind in NATIVE | TEXTS | SECRETS or is_url(kind)
    return is_named or issubclass(kind, Enum | BaseModel) or is_dataclass(kind)


def _is_in(annotation: Any, mapping: Mapping[Any, type]) -> bool:  # noqa: ANN401  as above
    try:
        return annotation in mapping
    except TypeError:  # an annotation that has no hash
        return False
