"""Arguments as a caller sent them, to what a tool declared; problems name fields and rules.

Queries are lenient (coercion, extras ignored), commands strict (neither). No value is ever told.
Source: DESIGN §5, §6; SEP-1303 (input errors are results, not protocol errors).
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from lib.contract import Command, Query
from lib.machinery.catalogue import KEY

MAX_KEY_CHARS = 128
MAX_DEPTH = 32
MAX_STRING_CHARS = 64 * 1024
MAX_MEMBERS = 10_000  # of one list or object
MAX_INTEGER_BITS = 1024  # far above any field, far below what Python refuses to write down
TELLABLE = re.compile(r"[A-Za-z0-9_.-]{1,64}")

type Json = Any  # what json.loads made of a body, looked at here first


class InputError(Exception):
    """The arguments break a rule. problems: one sentence each, without values."""

    def __init__(self, *problems: str) -> None:
        """Take at least one problem."""
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        """Join the problems into the text that a model reads."""
        return f"Input validation error: {'; '.join(self.problems)}"


def query_arguments(query: Query[Any, Any], sent: Mapping[str, Json]) -> BaseModel:
    """Validate a query's arguments, coercing what can be coerced.

    Raises: InputError: naming fields and rules.
    """
    _refuse_oversize(sent)
    try:
        return query.arguments.model_validate(dict(sent), strict=False, extra="ignore")
    except ValidationError as fault:
        raise InputError(*_problems(fault)) from None


def command_arguments(command: Command[Any, Any], sent: Mapping[str, Json]) -> BaseModel:
    """Validate a command's arguments and its key; nothing is coerced, nothing extra let in.

    Returns: the arguments without the key, which is a string then.

    Raises: InputError: naming fields and rules.
    """
    _refuse_oversize(sent)
    problems = list(key_problems(sent.get(KEY)))
    plain = {name: value for name, value in sent.items() if name != KEY}
    try:
        # JSON mode: a date or a UUID is a string on the wire, and strict all the same.
        text = json.dumps(plain)
        arguments = command.arguments.model_validate_json(text, strict=True, extra="forbid")
    except ValidationError as fault:
        raise InputError(*_problems(fault), *problems) from None
    if problems:
        raise InputError(*problems)
    return arguments


def key_problems(key: Json) -> Sequence[str]:
    """Tell what is wrong with an idempotency key: any string of 1 to 128 printable code points."""
    if key is None:
        return [f"{KEY}: Field required"]
    if not isinstance(key, str):
        return [f"{KEY}: Input should be a valid string"]
    if not 0 < len(key) <= MAX_KEY_CHARS:
        return [f"{KEY}: String should have 1 to {MAX_KEY_CHARS} characters"]
    if not key.strip():
        return [f"{KEY}: String should not be blank"]
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in key):
        return [f"{KEY}: String should hold no control character and no lone surrogate"]
    return []


def _refuse_oversize(sent: Mapping[str, Json]) -> None:
    level: list[Json] = [sent]
    for _ in range(MAX_DEPTH):
        for value in level:
            if _is_oversize(value):
                raise InputError("arguments: a number, string, list or object is too long")
        level = [inner for value in level for inner in _inner(value)]
        if not level:
            return
    raise InputError(f"arguments: nested deeper than {MAX_DEPTH} levels")


def _is_oversize(value: Json) -> bool:
    match value:
        case int():
            return value.bit_length() > MAX_INTEGER_BITS
        case str():
            return len(value) > MAX_STRING_CHARS
        case _:
            return len(_inner(value)) > MAX_MEMBERS


def _inner(value: Json) -> Sequence[Json]:
    if isinstance(value, Mapping):
        return list(cast("Mapping[str, Json]", value).values())
    return cast("list[Json]", value) if isinstance(value, list) else []


def _problems(fault: ValidationError) -> list[str]:
    errors = fault.errors(include_input=False, include_url=False)
    return [f"{_where(error['loc'])}: {_rule(error['type'], error['msg'])}" for error in errors]


def _where(location: tuple[int | str, ...]) -> str:
    # A caller's own field names may be anything; only plain ones are repeated.
    parts = (str(part) for part in location)
    told = (part if TELLABLE.fullmatch(part) else "(a name)" for part in parts)
    return ".".join(told) or "arguments"


def _rule(kind: str, message: str) -> str:
    if kind == "json_invalid":
        return "Input should be valid Unicode and JSON"
    if kind == "union_tag_invalid":  # its message quotes the input
        return "Input tag does not match any of the expected tags"
    return message.split(",", 1)[0] if kind.endswith(("_parsing", "_unicode")) else message
