"""What makes two calls the same: a digest of the tool and its typed arguments.

What is hashed is what the tool gets, value by value: a dump may hide, shorten or leave out.
Source: PROTOCOL §2; RFC 8785 (JSON Canonicalization Scheme), RFC 7493 (I-JSON numbers).
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, time, timedelta
from enum import Enum
from functools import cache
from hashlib import sha256
from typing import Any, cast

import rfc8785
from pydantic import BaseModel, RootModel, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from lib.machinery.runner.declared import NATIVE, TEXTS, fields_of, is_url, types_at

ANYTHING = frozenset[type]()  # may stand here, so a value that is not plain JSON says its type
JSON = NATIVE | {list, dict}
NAMED = "\0"  # begins what is no name of a caller's; a name that begins so gets another one


class UnfitForJsonError(ValueError):
    """No canonical JSON form: a number outside I-JSON, a lone surrogate, a type not declared."""


def canonical(value: Any) -> bytes:  # noqa: ANN401  any JSON value enters here
    """Write a JSON value in its one canonical form.

    Raises: UnfitForJsonError: no such form exists.
    """
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as fault:
        raise UnfitForJsonError(type(fault).__name__) from fault


def fingerprint(tool: str, arguments: BaseModel) -> str:
    """Digest a tool's name and its validated arguments without those that equal their default.

    So a deployment that adds an optional argument changes no fingerprint.
    Raises: UnfitForJsonError: an argument has no canonical form.
    """
    return sha256(canonical([tool, _without_defaults(arguments)])).hexdigest()


@cache
def defaults(kind: type[BaseModel]) -> Mapping[str, bytes]:
    """Write each optional field's default in canonical form.

    Raises: UnfitForJsonError: one has none.
    """
    optional = {
        name: field.get_default(call_default_factory=True, validated_data={})
        for name, field in kind.model_fields.items()
        if not field.is_required()
    }
    types = _types(kind)
    return {name: canonical(_plain(value, types[name])) for name, value in optional.items()}


def _without_defaults(model: BaseModel) -> dict[str, Any]:
    if model.model_extra:
        raise UnfitForJsonError("extra")
    known = defaults(type(model))
    plain = {name: _plain(value, types) for name, value, types in _fields(model, vars(model))}
    return {
        name: value
        for name, value in plain.items()
        if name not in known or known[name] != canonical(value)
    }


def _plain(value: object, types: frozenset[type]) -> Any:  # noqa: ANN401  the value as JSON
    kind = type(value)
    is_certain = kind in types if types else kind in JSON
    if kind is int and float in types:  # JSON has one kind of number
        is_certain = True
    plain = value if kind in NATIVE else _inside(value, types)
    return plain if is_certain else {f"{NAMED}{kind.__module__}.{kind.__qualname__}": plain}


def _inside(value: object, types: frozenset[type]) -> Any:  # noqa: ANN401  as above
    match value:
        case Enum():
            return _plain(value.value, ANYTHING)
        case SecretStr() | SecretBytes():
            return _plain(value.get_secret_value(), ANYTHING)
        case RootModel():
            kind: type = type(cast("object", value))
            return _plain(cast("RootModel[object]", value).root, _types(kind)["root"])
        case BaseModel():
            return _without_defaults(value)
        case _ if dataclasses.is_dataclass(value):
            held = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return {name: _plain(at, types) for name, at, types in _fields(value, held)}
        case _:
            return _container(value, types)


def _container(value: object, types: frozenset[type]) -> Any:  # noqa: ANN401  as above
    # The casts only name what the type has shown; the element types stay unknown objects.
    kind = type(value)
    if kind is dict:
        pairs = cast("dict[object, object]", value).items()
        return {_name(key, types): _plain(at, types) for key, at in pairs}
    if kind in {list, tuple}:
        return [_plain(at, types) for at in cast("list[object]", value)]
    if kind in {set, frozenset}:  # a set has no order, and hashing gives it one
        plain = [_plain(at, types) for at in cast("set[object]", value)]
        return sorted(plain, key=canonical)
    return _text(value)


def _text(value: object) -> str:
    match value:
        case bytes():
            return value.hex()
        case datetime() | time():  # the instant and the offset: a tool sees both
            return re.sub(r"\+00:00$", "Z", value.isoformat())
        case timedelta():
            return to_jsonable_python(value)
        case _ if type(value) in TEXTS or is_url(type(value)):
            return str(value)
        case _:
            raise UnfitForJsonError(type(value).__name__)


def _name(key: object, types: frozenset[type]) -> str:
    if isinstance(key, str) and type(key) is str:
        return NAMED + key if key.startswith(NAMED) else key
    plain = _plain(key, types)
    if type(key) in types and isinstance(plain, str):
        return plain
    return f"{NAMED}={canonical(plain).decode()}"


def _fields(
    value: object, held: Mapping[str, object]
) -> Iterator[tuple[str, object, frozenset[type]]]:
    for name, types in _types(type(value)).items():
        if name in held:
            yield name, held[name], types


@cache
def _types(kind: type) -> Mapping[str, frozenset[type]]:
    return {name: types_at(annotation) for name, annotation in fields_of(kind).items()}
