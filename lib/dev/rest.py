"""Upstash's REST wire: a request's body or path to commands, replies to its JSON.

A command is a JSON array in a POST to `/`; a pipeline and a transaction are arrays of those; or the
path itself is the command, a body its last argument and the query what follows. Replies come as
`{"result"}` or `{"error"}`, with `Upstash-Encoding: base64` every string but OK encoded.
Source: Upstash's REST API documentation; facts that its client relies on were run against it.
"""

import json
from base64 import b64encode
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn, cast
from urllib.parse import parse_qsl, unquote_to_bytes

from lib.dev.resp import Command, ErrorReply, Reply

MAX_REQUEST_BYTES = 10 * 1024 * 1024


class Shape(Enum):
    """How many commands a request holds, and whether they stand or fall together."""

    ONE = "/"
    PIPELINE = "/pipeline"
    TRANSACTION = "/multi-exec"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request asks for."""

    shape: Shape
    commands: tuple[Command, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Give the commands' names in capitals, without arguments."""
        return tuple(command[0].decode(errors="replace").upper() for command in self.commands)


class NotAskedError(Exception):
    """The request is none that can be executed; says the HTTP status and the error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def read(method: str, raw_path: bytes, query: bytes, body: bytes) -> Asked:
    """Read one request.

    Raises:  NotAskedError: 405, 413, or 400 for what is no command.
    """
    if method not in {"GET", "HEAD", "POST", "PUT"}:
        raise NotAskedError(405, "ERR method not allowed")
    if len(body) > MAX_REQUEST_BYTES:
        raise NotAskedError(
            413,
            f"ERR max request size exceeded. Limit: {MAX_REQUEST_BYTES} bytes, "
            f"Actual: at least {len(body)} bytes",
        )
    path = raw_path.decode("latin-1").rstrip("/")
    if path in {Shape.PIPELINE.value, Shape.TRANSACTION.value}:
        return _read_many(Shape(path), body)
    command = _command(_parsed(body)) if path == "" else _from_path(path, query, body)
    return Asked(shape=Shape.ONE, commands=(command,))


def _read_many(shape: Shape, body: bytes) -> Asked:
    rows = _parsed(body)
    if not isinstance(rows, list) or not rows:
        raise NotAskedError(400, "ERR empty pipeline request")
    return Asked(shape=shape, commands=tuple(_command(row) for row in cast("list[Any]", rows)))


def _parsed(body: bytes) -> object:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    try:
        # Numbers stay as they were written: 1.50 is the string "1.50" to the engine.
        return json.loads(body, parse_int=str, parse_float=str, parse_constant=refuse)
    except (ValueError, RecursionError) as broken:
        raise NotAskedError(400, "ERR failed to parse command") from broken


def _command(row: object) -> Command:
    if not isinstance(row, list) or not row:
        raise NotAskedError(400, "ERR empty command")
    return tuple(_argument(value) for value in cast("list[object]", row))


def _argument(value: object) -> bytes:
    if not isinstance(value, str):
        raise NotAskedError(400, "ERR invalid command argument: only strings and numbers are")
    try:
        return value.encode()
    except UnicodeEncodeError as lone:
        raise NotAskedError(400, "ERR invalid command argument: a lone surrogate") from lone


def _from_path(path: str, query: bytes, body: bytes) -> Command:
    segments = [unquote_to_bytes(segment) for segment in path.removeprefix("/").split("/")]
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    behind = [part.encode() for pair in pairs for part in pair if part]
    return (*segments, *([body] if body else []), *behind)


def result_of(reply: Reply, *, is_base64: bool) -> dict[str, object]:
    """Give the JSON object of one reply."""
    if isinstance(reply, ErrorReply):
        return {"error": reply.text}
    return {"result": _plain(reply, is_base64=is_base64)}


def _plain(reply: Reply, *, is_base64: bool) -> object:
    match reply:
        case bytes():
            if is_base64 and reply != b"OK":
                return b64encode(reply).decode()
            return reply.decode(errors="replace")
        case list():
            return [_plain(part, is_base64=is_base64) for part in reply]
        case ErrorReply(text):
            return _plain(text.encode(), is_base64=is_base64)
        case _:
            return reply
