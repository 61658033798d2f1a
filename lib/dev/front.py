"""Upstash's REST front on the embedded engine: what the deployment talks to, on this machine.

The same wire: both tokens, pipelines and transactions, base64, error forms, limits, the scripts'
key locking. Faults planned in `faults` happen around it; they are real on a socket. Requests run
side by side, except while they are counted.
"""

import asyncio
import json
from dataclasses import dataclass
from hmac import compare_digest
from itertools import count as counting
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from lib.dev.executor import Executor
from lib.dev.faulty import Faults, faulty
from lib.dev.resp import EngineGoneError, Reply
from lib.dev.rest import MAX_REQUEST_BYTES, Asked, NotAskedError, Shape, read, result_of
from lib.dev.wire import Answer, answer_of, send_out

_WRONG_TOKEN = "WRONGPASS invalid or missing auth token"  # noqa: S105 - an error text
_NO_ENGINE = b"<html><body>502 Bad Gateway: the engine is not there</body></html>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request that reached the store: one round trip of its client.

    `commands` are names only; `billed` is what Upstash would count for them.
    """

    path: str
    commands: tuple[str, ...]
    status: int
    billed: int


class Front:
    """The ASGI app; `exchanges` grows only when it counts."""

    def __init__(
        self, socket_path: Path, *, token: str, read_only_token: str, is_counted: bool
    ) -> None:
        self.exchanges: list[Exchange] = []
        self.app: ASGIApp = self._serve
        self._socket_path = socket_path
        self._token = token
        self._read_only_token = read_only_token
        self._is_counted = is_counted
        self._sync = counting(1)
        self._executor: Executor | None = None
        self._opening = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the server's life."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self.app(scope, receive, send)

    async def aclose(self) -> None:
        """Close the connections to the engine; the next request opens new ones."""
        executor, self._executor, self._opening = self._executor, None, asyncio.Lock()
        if executor is not None:
            await executor.aclose()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_out(await self._answer(scope, await _body(receive)), receive, send)

    async def _answer(self, scope: Scope, body: bytes) -> Answer:
        headers = Headers(scope=scope)
        asked, content, billed = None, b"", 0
        try:
            is_read_only = self._is_read_only(headers)
            asked = read(scope["method"], scope["raw_path"], scope["query_string"], body)
            executor = await self._open()
            replies, billed = await executor.execute(asked, is_read_only=is_read_only)
            is_base64 = headers.get("upstash-encoding", "").lower() == "base64"
            status, content = _rendered(asked, replies, is_base64=is_base64)
        except NotAskedError as refused:
            status, content = refused.status, json.dumps({"error": refused.text}).encode()
        except EngineGoneError:
            return answer_of(502, "text/html", _NO_ENGINE)
        if self._is_counted:
            names = () if asked is None else asked.names
            self.exchanges.append(
                Exchange(path=scope["path"], commands=names, status=status, billed=billed)
            )
        token = str(next(self._sync))
        return answer_of(status, "application/json", content, upstash_sync_token=token)

    def _is_read_only(self, headers: Headers) -> bool:
        sent = headers.get("authorization", "").encode()
        for token, is_read_only in ((self._token, False), (self._read_only_token, True)):
            if compare_digest(sent, f"Bearer {token}".encode()):
                return is_read_only
        raise NotAskedError(401, _WRONG_TOKEN)

    async def _open(self) -> Executor:
        async with self._opening:
            if self._executor is None:
                self._executor = await Executor.open(self._socket_path, is_counted=self._is_counted)
            return self._executor


def create_front(
    socket_path: Path,
    *,
    token: str,
    read_only_token: str,
    faults: Faults | None = None,
    count: bool = False,
) -> Front:
    """Make the front of the engine at `socket_path`.

    Args:    faults: planned by the caller, from any thread, before or while it serves.
             count: record every exchange and what it is billed; requests then wait for each other.
    """
    front = Front(socket_path, token=token, read_only_token=read_only_token, is_counted=count)
    if faults is not None:
        front.app = faulty(front.app, faults, max_body=MAX_REQUEST_BYTES)
    return front


async def _body(receive: Receive) -> bytes:
    """Read to the end, so that a client still sending can read its refusal, but keep no more."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        del body[MAX_REQUEST_BYTES + 1 :]
        more = message.get("more_body", False)
    return bytes(body)


def _rendered(asked: Asked, replies: list[Reply], *, is_base64: bool) -> tuple[int, bytes]:
    results = [result_of(reply, is_base64=is_base64) for reply in replies]
    if asked.shape is not Shape.ONE:
        return 200, json.dumps(results).encode()
    return 400 if "error" in results[0] else 200, json.dumps(results[0]).encode()
