"""One HTTP exchange in the hand: a request read whole, an answer kept back, three ways to send it.

What reaches the client is real. A cut connection carries no byte, a reset is a TCP reset, half an
answer ends in the middle of its declared length. Without a socket (httpx's in-process transport)
a cut is the exception that httpx raises for it.
"""

import socket
import struct
from asyncio import Transport
from dataclasses import dataclass

import httpx
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LINGER_ZERO = struct.pack("ii", 1, 0)  # makes closing send RST instead of FIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it came off the wire, body complete."""

    method: str
    path: str
    query: str
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A complete answer."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Half:
    """The head of an answer and half of its body, then the end of the connection."""

    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The end of the connection without a byte: closed (FIN), or reset (RST)."""

    is_reset: bool


type Sent = Answer | Half | Cut


def answer_of(status: int, content_type: str, body: bytes, **more: str) -> Answer:
    """Build an answer whose length is right; `retry_after="3"` becomes a header."""
    headers = {"content-type": content_type, "content-length": str(len(body))}
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    raw = tuple((name.encode(), value.encode()) for name, value in headers.items())
    return Answer(status=status, headers=raw, body=body)


async def read_request(scope: Scope, receive: Receive, *, max_body: int) -> Request | None:
    """Read the whole request; None if the client left before its end.

    Args:    max_body: bytes; reading stops just past them, so that the app sees it is too much.
    """
    body = bytearray()
    more = True
    while more and len(body) <= max_body:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return Request(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
        headers=Headers(scope=scope),
        body=bytes(body),
    )


async def execute(app: ASGIApp, scope: Scope, body: bytes) -> Answer:
    """Run `app` on a request already read, and keep its answer back."""
    unread = [body]
    status, headers, sent = 500, tuple[tuple[bytes, bytes], ...](), bytearray()

    async def receive() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], tuple(message.get("headers", ()))
        sent.extend(message.get("body", b""))

    # A copy, because routers write into the scope and a request may be executed twice.
    await app(dict(scope), receive, send)
    return Answer(status=status, headers=headers, body=bytes(sent))


async def send_out(sent: Sent, receive: Receive, send: Send) -> None:
    """Put an answer, a part of it or nothing on the wire."""
    match sent:
        case Answer():
            await _send_part(sent, send, up_to=len(sent.body), more=False)
        case Half(answer):
            await _send_part(answer, send, up_to=len(answer.body) // 2, more=True)
            await _cut(receive, send, is_reset=False)
        case Cut(is_reset=is_reset):
            await _cut(receive, send, is_reset=is_reset)


async def _send_part(answer: Answer, send: Send, *, up_to: int, more: bool) -> None:
    headers = list(answer.headers)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body[:up_to], "more_body": more})


async def _cut(receive: Receive, send: Send, *, is_reset: bool) -> None:
    """End the connection under the server's feet: ASGI has no message for it."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if not isinstance(transport, Transport):
        if is_reset:
            raise httpx.ReadError("connection reset")
        raise httpx.RemoteProtocolError("connection closed")
    peer = transport.get_extra_info("socket")
    if is_reset:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
        transport.abort()
    else:
        transport.close()
    # Until the server has seen the end, an unanswered request looks to it like a crash of the app.
    while (await receive())["type"] != "http.disconnect":
        pass
