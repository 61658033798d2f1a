"""Whether the calls of a tool can be told apart: what its argument model may hold, at any depth.

Two calls that differ and look the same would be one operation, so what is unknown is refused.
Source: PROTOCOL §2.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from lib.machinery.runner.declared import Mixed, Unknown, fields_of, is_dataclass, walk

EMPTY = frozenset[Any]({None, list, dict, set, tuple, frozenset})
SAFE_INTEGER = 2**53 - 1
ORDINARY = "a str, int, float, bool, Decimal, date, UUID, Enum, Literal, list, dict or a model"


def indistinct(arguments: type[BaseModel]) -> str | None:
    """Say, in one sentence, what to change where two calls could be taken for one."""
    reached: dict[type, None] = {arguments: None}
    for kind in (todo := [arguments]):
        for name, annotation in fields_of(kind).items():
            where = name if kind is arguments else f"{kind.__name__}.{name}"
            for each in walk(annotation):
                if isinstance(each, Unknown):
                    return f"make {where} {ORDINARY}: other values cannot be told apart."
                if not isinstance(each, Mixed) and each not in reached:
                    reached[each] = None
                    todo.extend([each] if _has_fields(each) else [])
        problem = next(_wrong_fields(kind, "" if kind is arguments else f"{kind.__name__}."), None)
        if problem is not None:
            return problem
    return _same_names([*reached])


def _has_fields(kind: type) -> bool:
    return issubclass(kind, BaseModel) or is_dataclass(kind)


def _wrong_fields(kind: Any, prefix: str) -> Iterator[str]:  # noqa: ANN401  a model or a dataclass
    config: Any = getattr(kind, "__pydantic_config__", {})
    if "allow" in {config.get("extra"), getattr(kind, "model_config", {}).get("extra")}:
        yield f'remove extra="allow" from {kind.__name__}: only declared fields come in or leave.'
    yield from (_wrong_dataclass if is_dataclass(kind) else _wrong_model)(kind, prefix)


def _wrong_model(kind: type[BaseModel], prefix: str) -> Iterator[str]:
    if kind.__private_attributes__:
        yield f"make the private attributes of {kind.__name__} fields: they tell calls apart too."
    for name, field in kind.model_fields.items():
        if field.exclude or field.exclude_if is not None:
            yield f"{prefix}{name} is excluded from dumps, so nobody would see it: drop exclude."
        if not _is_constant(field.default_factory):
            yield _computed(prefix + name)
    if not _can_be_written(kind):
        yield f"give the fields of {kind.__name__} defaults that JSON can carry exactly."


def _wrong_dataclass(kind: Any, prefix: str) -> Iterator[str]:  # noqa: ANN401  any dataclass
    if hasattr(kind, "__post_init__"):
        yield f"make {kind.__name__} a model: what __post_init__ does tells calls apart too."
    for field in dataclasses.fields(kind):
        factory = None if field.default_factory is dataclasses.MISSING else field.default_factory
        if not _is_constant(factory):
            yield _computed(prefix + field.name)


def _is_constant(factory: Any) -> bool:  # noqa: ANN401  any callable
    return (get_origin(factory) or factory) in EMPTY


def _computed(where: str) -> str:
    return f"give {where} a constant default: a computed one differs between call and retry."


def _can_be_written(kind: type[BaseModel]) -> bool:
    if all(_is_plain(field.default) for field in kind.model_fields.values()):
        return True
    # A cold start is without it where nobody needs it.
    from lib.machinery.runner.fingerprint import UnfitForJsonError, defaults

    try:
        defaults(kind)
    except UnfitForJsonError:
        return False
    return True


def _is_plain(default: object) -> bool:
    if isinstance(default, int | float):
        return math.isfinite(default) and abs(default) <= SAFE_INTEGER
    if isinstance(default, str):
        return default.isascii()
    return default is None or default is PydanticUndefined


def _same_names(kinds: list[type]) -> str | None:
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in kinds]
    twice = next((name for name in names if names.count(name) > 1), None)
    return twice and f"rename one of the two types {twice}: they could not be told apart."
