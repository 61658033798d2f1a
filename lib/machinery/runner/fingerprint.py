"""What makes two calls the same: a digest of the tool and its typed arguments.

A dump may hide, shorten or leave out, and two calls that differ would then look the same. So what
is hashed has to give the arguments back: of two models that differ, no one text can.
Source: PROTOCOL §2; RFC 8785 (JSON Canonicalization Scheme), RFC 7493 (I-JSON numbers).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, cast

import rfc8785
from pydantic import BaseModel, RootModel, ValidationError


class UnfitForJsonError(ValueError):
    """No canonical JSON form: a number outside I-JSON, a lone surrogate.

    problem: what the caller is told.
    """

    problem = "arguments: numbers should be finite and within 53 bits"


class IndistinctError(UnfitForJsonError):
    """The model's JSON does not give the arguments back: a secret, or what a serializer drops."""

    problem = "arguments: their declared JSON does not give them back, so calls look alike"


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

    So a deployment that adds an optional argument changes no fingerprint. Where only a default
    tells which model of a union it is, the defaults count too.
    Raises: UnfitForJsonError: an argument has no canonical form, or none that is its own.
    """
    dumped = arguments.model_dump(
        mode="json", by_alias=False, exclude_computed_fields=True, warnings=False
    )
    for is_whole in (False, True):
        plain = _fields(arguments, dumped, is_whole=is_whole)
        if _gives_back(canonical(plain), arguments):
            named = [tool, plain, "whole"] if is_whole else [tool, plain]
            return sha256(canonical(named)).hexdigest()
    raise IndistinctError(type(arguments).__name__)


def _gives_back(text: bytes, arguments: BaseModel) -> bool:
    try:
        return arguments == type(arguments).model_validate_json(text, by_alias=False, by_name=True)
    except ValidationError:
        return False


def _fields(model: BaseModel, dumped: Mapping[str, Any], *, is_whole: bool) -> dict[str, Any]:
    defaults: Mapping[str, bytes] = {} if is_whole else _defaults(type(model))
    plain = {
        name: _plain(getattr(model, name), dumped[name], is_whole=is_whole)
        for name in type(model).model_fields
        if name in dumped
    }
    return {name: value for name, value in plain.items() if defaults.get(name) != canonical(value)}


def _plain(value: object, dumped: Any, *, is_whole: bool) -> Any:  # noqa: ANN401  a value's JSON
    # The casts only name what was shown; a serializer may give another shape than its value has.
    shape = type(cast("object", dumped))
    if isinstance(value, RootModel):
        return _plain(cast("RootModel[object]", value).root, dumped, is_whole=is_whole)
    if isinstance(value, BaseModel) and shape is dict:
        return _fields(value, dumped, is_whole=is_whole)
    if isinstance(value, Mapping) and shape is dict:
        inner = zip(cast("Mapping[object, object]", value).values(), dumped.items(), strict=True)
        return {name: _plain(at, plain, is_whole=is_whole) for at, (name, plain) in inner}
    if isinstance(value, set | frozenset) and shape is list:
        return sorted(dumped, key=canonical)  # a set has no order, and hashing gives it one
    if isinstance(value, list | tuple) and shape is list:
        inner = zip(cast("Sequence[object]", value), dumped, strict=True)
        return [_plain(at, plain, is_whole=is_whole) for at, plain in inner]
    return dumped


@cache
def _defaults(kind: type[BaseModel]) -> Mapping[str, bytes]:
    optional = {
        name: field.get_default(call_default_factory=True, validated_data={})
        for name, field in kind.model_fields.items()
        if not field.is_required()
    }
    bare = kind.model_construct(**optional)
    dumped = bare.model_dump(mode="json", by_alias=False, include=set(optional), warnings=False)
    plain = {name: _plain(optional[name], dumped[name], is_whole=False) for name in dumped}
    return {name: canonical(value) for name, value in plain.items()}
