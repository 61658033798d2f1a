"""Seeded cases: a correct MCP request of either era with one to three things made wrong.

A case is bytes on a socket, so that nothing on our side repairs it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random  # noqa: TID251  seeded, so that a failure can be repeated
from typing import Any

from tests.harness.stack import READ_KEY, WRITE_KEY
from tests.harness.wire import LEGACY, META, MODERN
from tests.hostile import values

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_item", {"item_id": "none"}),
    ("list_items", {"limit": 2, "cursor": None}),
    ("search_items", {"text": "lamp", "limit": 2}),
    ("get_operation", {"idempotency_key": "k"}),
    ("list_toolsets", {}),
    ("create_item", {"name": "lamp", "quantity": 1, "idempotency_key": "k"}),
    ("update_item", {"item_id": "none", "quantity": 1, "idempotency_key": "k"}),
    ("delete_item", {"item_id": "none", "idempotency_key": "k"}),
    ("send_notice", {"item_id": "none", "message": "hello", "idempotency_key": "k"}),
    ("no_such_tool", {"a": 1}),
]
METHODS = [
    "tools/list", "server/discover", "initialize", "ping", "resources/read", "prompts/get",
    "subscriptions/listen", "logging/setLevel", "completion/complete", "sampling/createMessage",
    "notifications/initialized", "notifications/cancelled", "tools/call ", "", "tools", "rpc.x",
]  # fmt: skip
REQUEST_LINES = [
    b"GET /mcp HTTP/1.1", b"HEAD /mcp HTTP/1.1", b"DELETE /mcp HTTP/1.1", b"PUT /mcp HTTP/1.1",
    b"OPTIONS /mcp HTTP/1.1", b"TRACE /mcp HTTP/1.1", b"POST /mcp/ HTTP/1.1",
    b"POST //mcp HTTP/1.1", b"POST /mcp%00 HTTP/1.1", b"POST /mcp%2freadonly HTTP/1.1",
    b"POST /mcp/readonly/../ HTTP/1.1", b"POST http://127.0.0.1/mcp HTTP/1.1",
    b"POST /mcp?a=\xff HTTP/1.1", b"POST /healthz HTTP/1.1", b"POST / HTTP/1.1",
    b"POST /mcp HTTP/1.0", b"POST /mcp HTTP/9.9", b"POST /mcp", b"post /mcp HTTP/1.1",
    b"PRI * HTTP/2.0", b"POST * HTTP/1.1", b"CONNECT x:1 HTTP/1.1", b"\x16\x03\x01\x02\x00",
    b"POST /" + b"a" * 70_000 + b" HTTP/1.1", b"GET /api/cron/reconcile HTTP/1.1",
    b"GET /.well-known/oauth-protected-resource/mcp HTTP/1.1", b"GET /%ff%ff HTTP/1.1",
]  # fmt: skip


@dataclass
class Case:
    """One request to be spoilt. cut: where the bytes end early; None sends them all."""

    rng: Random
    line: bytes = b"POST /mcp HTTP/1.1"
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    body: bytes = b""
    is_length_told: bool = True
    cut: int | None = None
    did: list[str] = field(default_factory=list[str])

    def wire(self) -> bytes:
        """Give the bytes to send."""
        told = [(b"Content-Length", str(len(self.body)).encode())] if self.is_length_told else []
        head = [self.line, *(name + b": " + value for name, value in (*self.headers, *told))]
        return (b"\r\n".join(head) + b"\r\n\r\n" + self.body)[: self.cut]


def make(seed: int, number: int) -> Case:
    """Make the case of a number; the same one for the same seed."""
    rng = Random(f"{seed}:{number}")  # noqa: S311  no secret is made of it
    case = _correct(rng)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        spoil = rng.choice(SPOILS)
        case.did.append(spoil.__name__.strip("_"))
        spoil(case)
    return case


def _correct(rng: Random) -> Case:
    era, case = rng.choice([MODERN, LEGACY]), Case(rng)
    name, arguments = rng.choice(CALLS)
    if "idempotency_key" in arguments:
        arguments = {**arguments, "idempotency_key": f"k{rng.random()}"}
    method = "tools/call" if rng.random() < 0.8 else rng.choice(METHODS)
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    case.headers = [
        (b"Host", b"127.0.0.1"),
        (b"Content-Type", b"application/json"),
        (b"Accept", b"application/json, text/event-stream"),
        (b"Authorization", f"Bearer {rng.choice([READ_KEY, WRITE_KEY])}".encode()),
        (b"MCP-Protocol-Version", era.encode()),
    ]
    if era == MODERN:
        case.headers += [(b"Mcp-Method", method.encode()), (b"Mcp-Name", name.encode())]
        params["_meta"] = {
            f"{META}/protocolVersion": era,
            f"{META}/clientCapabilities": {"elicitation": {}},
            f"{META}/clientInfo": {"name": "hostile", "version": "1"},
        }
    case.line = rng.choice([b"POST /mcp HTTP/1.1", b"POST /mcp/readonly HTTP/1.1"])
    body = {"jsonrpc": "2.0", "id": rng.randrange(1_000), "method": method, "params": params}
    case.body = values.dumps(body).encode()
    return case


def _replace_a_value(case: Case) -> None:
    """Put a hostile value in the place of any value, key, or piece of the body."""
    text = case.body.decode("utf-8", "replace")
    places = list(re.finditer(r'(?<=[:\[,] )("[^"]*"|[0-9.]+|\{[^{}]*\}|null)', text))
    if places:
        at = case.rng.choice(places)
        text = text[: at.start()] + values.any_value(case.rng) + text[at.end() :]
    case.body = text.encode("utf-8", "surrogatepass")


def _drop_or_double_a_member(case: Case) -> None:
    text = case.body.decode("utf-8", "replace")
    places = list(re.finditer(r'"[^"]*": ("[^"]*"|[0-9.]+|null)(, )?', text))
    if places:
        at = case.rng.choice(places)
        again = f"{at.group().removesuffix(', ')}, {at.group()}" if case.rng.random() < 0.5 else ""
        text = text[: at.start()] + again + text[at.end() :]
    case.body = text.encode("utf-8", "surrogatepass")


def _add_a_request_state(case: Case) -> None:
    more = f', "requestState": {values.text(case.rng)}, "inputResponses": {values.plain(case.rng)}'
    case.body = case.body.replace(b'"arguments"', more[2:].encode() + b', "arguments"', 1)


def _batch(case: Case) -> None:
    case.body = b"[" + b",".join([case.body] * case.rng.choice([0, 1, 2, 50])) + b"]"


def _no_request(case: Case) -> None:
    case.body = case.rng.choice(
        [b"", b" ", b"null", b"1", b'""', b"\xef\xbb\xbf" + case.body, case.body * 2,
         case.body.replace(b'"method"', b'"result"'), case.body.replace(b'"id"', b'"iD"'),
         b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","id":null,"error":{}}']
    )  # fmt: skip


def _other_encoding(case: Case) -> None:
    text = case.body.decode("utf-8", "replace")
    case.body = text.encode(case.rng.choice(["utf-16", "utf-32-le", "utf-7", "cp037"]), "replace")


def _flip_bytes(case: Case) -> None:
    body = bytearray(case.body)
    for _ in range(case.rng.choice([1, 3, 30])):
        if body:
            body[case.rng.randrange(len(body))] = case.rng.randrange(256)
    case.body = bytes(body)


def _end_early(case: Case) -> None:
    case.body = case.body[: case.rng.randrange(len(case.body) + 1)]


def _too_long(case: Case) -> None:
    case.body += b" " * case.rng.choice([1 << 20, 3 << 20])


def _bomb(case: Case) -> None:
    case.headers.append((b"Content-Encoding", case.rng.choice([b"gzip", b"deflate", b"br", b"x"])))
    case.body = values.bomb(case.rng)


def _spoil_a_header(case: Case) -> None:
    at = case.rng.randrange(len(case.headers))
    name, value = case.headers[at]
    wrong = values.header(case.rng)
    case.headers[at : at + 1] = case.rng.choice(
        [[], [(name, wrong)], [(name, value), (name, wrong)], [(name, wrong), (name, value)],
         [(name.upper(), value)], [(name + b" ", value)], [(b" " + name, value)],
         [(name, value + b"\r\n folded")], [(name, value)] * 2, [(name, value)] * 200]
    )  # fmt: skip


def _add_a_header(case: Case) -> None:
    name = case.rng.choice(
        [b"Origin", b"Expect", b"Upgrade", b"Connection", b"Transfer-Encoding", b"Mcp-Session-Id",
         b"Last-Event-ID", b"Mcp-Param-Region", b"X-Forwarded-Host", b"X-Vercel-Id", b"Cookie",
         b"Range", b"X-HTTP-Method-Override", b"Content-Encoding", b"Te", b"\xff", b"", b"a b"]
    )  # fmt: skip
    value = case.rng.choice([values.header(case.rng), b"100-continue", b"websocket", b"h2c"])
    case.headers.append((name, value))


def _lie_about_length(case: Case) -> None:
    case.is_length_told = False
    length = str(len(case.body)).encode()
    told = case.rng.choice(
        [b"0", b"-1", b"+5", b"1e3", length + b"0", b"99999999999999999999", b"", b"x", length]
    )
    case.headers.append((b"Content-Length", told))
    if case.rng.random() < 0.3:
        case.headers.append((b"Content-Length", length))


def _chunk(case: Case) -> None:
    case.is_length_told = case.rng.random() < 0.2
    case.headers.append((b"Transfer-Encoding", b"chunked"))
    size = f"{len(case.body):x}".encode()
    size = case.rng.choice(
        [size, size, size, b"-1", b"zz", b"f" * 17, size + b";x=" + b"y" * 9_000]
    )
    case.body = size + b"\r\n" + case.body + case.rng.choice([b"\r\n0\r\n\r\n", b"\r\n0\r\n", b""])


def _other_line(case: Case) -> None:
    case.line = case.rng.choice(REQUEST_LINES)


def _cut(case: Case) -> None:
    case.cut = case.rng.randrange(len(case.wire()) + 1)


type Spoil = Callable[[Case], None]
SPOILS: list[Spoil] = [
    _replace_a_value, _replace_a_value, _replace_a_value, _replace_a_value,
    _drop_or_double_a_member, _drop_or_double_a_member, _add_a_request_state, _batch, _no_request,
    _other_encoding, _flip_bytes, _end_early, _too_long, _bomb, _spoil_a_header, _spoil_a_header,
    _spoil_a_header, _add_a_header, _add_a_header, _lie_about_length, _chunk, _other_line, _cut,
]  # fmt: skip
