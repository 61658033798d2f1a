"""What makes two calls the same: a digest of the tool and its typed arguments.

A dump may hide, shorten or leave out, and two calls that differ would then look the same. So what
is hashed has to give the arguments back: of two models that differ, no one text can.
Source: PROTOCOL §2; RFC 8785 (JSON Canonicalization Scheme), RFC 7493 (I-JSON numbers).
"""

from collections.abc import Mapping, Sequence, Sized
from functools import cache
from hashlib import sha256
from typing import Any, cast

import rfc8785
from pydantic import BaseModel, RootModel


class UnfitForJsonError(ValueError):
    """No canonical JSON form: a number outside I-JSON, a lone surrogate.

    problem: what the caller is told.
    """

    problem = "arguments: numbers should be finite and within 53 bits"


class IndistinctError(UnfitForJsonError):
    """The model's JSON does not give the arguments back: a secret, or what a serializer drops."""

    problem = "arguments: this server cannot tell two such calls apart, and has to be corrected"


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
    for is_whole in (False, True):
        text = canonical(as_json(arguments, is_whole=is_whole))
        if _gives_back(text, arguments):
            parts = (canonical(tool), text, *((b'"whole"',) if is_whole else ()))
            return sha256(b"[%b]" % b",".join(parts)).hexdigest()
    raise IndistinctError(type(arguments).__name__)


def as_json(arguments: BaseModel, *, is_whole: bool = False) -> dict[str, Any]:
    """Give validated arguments as JSON, without those that equal their default unless `is_whole`.

    Of two that differ it may be the same, where a model's own JSON hides something.
    """
    return _fields(arguments, _dumped(arguments), is_whole=is_whole)


def _dumped(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=False, round_trip=True, warnings=False)


def _gives_back(text: bytes, arguments: BaseModel) -> bool:
    try:
        return arguments == type(arguments).model_validate_json(text, by_alias=False, by_name=True)
    except Exception:  # noqa: BLE001  a validator of a tool's own, which never saw its own output
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
    is_alike = isinstance(value, Sized) and shape in {dict, list} and len(value) == len(dumped)
    if isinstance(value, RootModel):
        return _plain(cast("RootModel[object]", value).root, dumped, is_whole=is_whole)
    if isinstance(value, BaseModel) and shape is dict:
        return _fields(value, dumped, is_whole=is_whole)
    if isinstance(value, Mapping) and shape is dict and is_alike:
        inner = zip(cast("Mapping[object, object]", value).values(), dumped.items(), strict=True)
        return {name: _plain(at, plain, is_whole=is_whole) for at, (name, plain) in inner}
    if isinstance(value, set | frozenset) and shape is list:
        return sorted(dumped, key=canonical)  # a set has no order, and hashing gives it one
    if isinstance(value, list | tuple) and shape is list and is_alike:
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
    dumped = _dumped(kind.model_construct(**optional))
    plain = {
        name: _plain(value, dumped[name], is_whole=False)
        for name, value in optional.items()
        if name in dumped
    }
    return {name: canonical(value) for name, value in plain.items()}
