"""What makes two calls the same: a digest of the tool and its typed arguments.

Source: PROTOCOL §2; RFC 8785 (JSON Canonicalization Scheme), RFC 7493 (I-JSON numbers).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, cast

import rfc8785
from pydantic import BaseModel, RootModel


class UnfitForJsonError(ValueError):
    """The value has no canonical JSON form: a number outside I-JSON, or a lone surrogate."""


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
    plain = _without_defaults(arguments, arguments.model_dump(mode="json", by_alias=False))
    return sha256(canonical([tool, plain])).hexdigest()


def _without_defaults(model: BaseModel, dumped: Mapping[str, Any]) -> dict[str, Any]:
    kind = type(model)
    defaults = _defaults(kind)
    plain = {
        name: _plain(getattr(model, name), dumped[name])
        for name in kind.model_fields
        if name in dumped
    }
    return {name: value for name, value in plain.items() if defaults.get(name) != canonical(value)}


def _plain(value: object, dumped: Any) -> Any:  # noqa: ANN401  a value and its JSON form
    # The casts only name what isinstance has shown; the element types stay unknown objects.
    if isinstance(value, RootModel):
        return _plain(cast("RootModel[object]", value).root, dumped)
    if isinstance(value, BaseModel):
        return _without_defaults(value, dumped)
    if isinstance(value, Mapping):
        inner = cast("Mapping[object, object]", value).values()
        return {key: _plain(at, dumped[key]) for key, at in zip(dumped, inner, strict=True)}
    if isinstance(value, set | frozenset):
        return sorted(dumped, key=canonical)  # a set has no order, and hashing gives it one
    if isinstance(value, list | tuple):
        inner = cast("Sequence[object]", value)
        return [_plain(at, plain) for at, plain in zip(inner, dumped, strict=True)]
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
    return {name: canonical(_plain(optional[name], dumped[name])) for name in optional}
