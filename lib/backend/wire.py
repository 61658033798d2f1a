"""One exchange with a backend over HTTP, and what it proves: the seam where httpx ends.

Nothing is sent twice here: no redirect, no transport retry, no cookie kept for a later call, no
proxy from the environment. What was never sent is told apart from what may have arrived, and a
success whose body stalls is still told as one before the caller's own time-out ends the call.
Source: PROTOCOL §6; the exceptions of httpx 0.28.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

import anyio
from pydantic import BaseModel

from lib.backend.answers import Answer, Meanings, instant, ours, prove
from lib.contract import BackendSilentError, Call, NotExecutedError

if TYPE_CHECKING:
    import ssl

    import httpx  # at run time only where something is sent: a refused call must not pay for it

MAX_BODY = 1024 * 1024  # bytes, decoded
READS = frozenset({"GET", "HEAD"})
TOKEN = re.compile(r"[!-~]+")  # a pasted line end would fail only where bytes may be out

# Exact types by name: a class that httpx adds later is no evidence until it stands here.
NEVER_SENT: Mapping[str, str] = {
    "ConnectError": "unreachable",
    "ConnectTimeout": "unreachable",
    "PoolTimeout": "unreachable",
    "UnsupportedProtocol": "not_sent",
    "InvalidURL": "not_sent",
}
MAY_HAVE_ARRIVED: Mapping[str, str] = {
    "WriteTimeout": "timeout",
    "ReadTimeout": "timeout",
    "WriteError": "connection_lost",
    "ReadError": "connection_lost",
    "CloseError": "connection_lost",
    "RemoteProtocolError": "connection_lost",
    "LocalProtocolError": "unclear",  # may be found after the head went out
    "ProxyError": "unclear",
    "DecodingError": "unclear",
    "TooManyRedirects": "unclear",
}


class Address(Protocol):
    """Where a system is, without a slash at its end, and the bearer token for it."""

    @property
    def url(self) -> str:
        """Its base URL."""
        ...

    @property
    def token(self) -> str:
        """The bearer token."""
        ...


class Parts(TypedDict, total=False):
    """What a request may carry, in httpx's words."""

    params: Mapping[str, str | int]
    headers: Mapping[str, str]
    json: Mapping[str, object]


class Wire:
    """One system under one credential; None, or an unfit token, where there is none for it."""

    def __init__(self, address: Address | None, meanings: Meanings) -> None:
        self._address, self._meanings = address, meanings
        self._clients: dict[asyncio.AbstractEventLoop, _Client] = {}

    async def exchange[R: BaseModel](
        self, request: str, model: type[R], call: Call, **parts: Unpack[Parts]
    ) -> R:
        """Send one request and read its success as `model`.

        Args:    request: method and path, `POST /items`.
        Raises:  RefusedError, NotExecutedError, BackendSilentError, OccurredError: what else the
                 exchange proves (PROTOCOL §6).
        """
        import httpx

        if self._address is None or not TOKEN.fullmatch(self._address.token):
            raise ours(NotExecutedError, "not_configured")
        # Counted from here: the first call of a process still has its client to build.
        margin_s = min(0.1, call.timeout_s / 20)
        deadline = anyio.current_time() + call.timeout_s - margin_s
        client = await self._client_of_this_loop()
        phase_s = max(0.0, deadline - margin_s - anyio.current_time())
        method, _, path = request.partition(" ")
        try:
            built = client.build_request(method, self._address.url + path, timeout=phase_s, **parts)
            built.headers["Authorization"] = f"Bearer {self._address.token}"
        except (httpx.InvalidURL, TypeError, ValueError) as fault:
            raise ours(NotExecutedError, "not_sent") from fault
        could_act = bool(call.reference) and method not in READS
        try:
            answer = await self._send(client, built, deadline, could_act=could_act)
        except (
            httpx.HTTPError,
            httpx.InvalidURL,
            httpx.StreamError,
            httpx.CookieConflict,
        ) as fault:
            raise _evidence(fault) from fault
        return prove(answer, model, self._meanings)

    async def _send(
        self,
        client: "httpx.AsyncClient",
        request: "httpx.Request",
        deadline: float,
        *,
        could_act: bool,
    ) -> Answer:
        response, body = None, None
        with anyio.CancelScope(deadline=deadline):
            response = await client.send(request, stream=True)
            body = await _read(response)
        if response is None:
            raise ours(BackendSilentError, "timeout")
        headers = response.headers
        return Answer(
            could_act=could_act,
            status=response.status_code,
            body=body,
            at=instant(headers.get("Date", "")) or datetime.now(UTC),
            retry_after=headers.get("Retry-After"),
            is_replayed=headers.get(self._meanings.replayed, "").lower() == "true",
        )

    async def _client_of_this_loop(self) -> "httpx.AsyncClient":
        # A connection belongs to the loop that opened it, and tests and some hosts use several.
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            for dead in [at for at in self._clients if at.is_closed()]:
                self._clients.pop(dead, None)
            lifetime = _lifetime()
            self._clients[loop] = (await anext(lifetime), lifetime)
        return self._clients[loop][0]


type _Client = tuple[httpx.AsyncClient, AsyncGenerator[httpx.AsyncClient]]


async def _lifetime() -> "AsyncGenerator[httpx.AsyncClient]":
    # A loop that shuts down closes the generators it has seen, and with this one the connections.
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    import httpx

    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    async with httpx.AsyncClient(
        follow_redirects=False, trust_env=False, cookies=no_cookies, verify=_authorities()
    ) as client:
        yield client


@cache
def _authorities() -> "ssl.SSLContext":
    # Reading the list takes 25 to 75 ms, nearly all that a client costs; it belongs to no loop.
    import httpx

    return httpx.create_ssl_context(trust_env=False)


async def _read(response: "httpx.Response") -> bytes | None:
    body = bytearray()
    try:
        async with aclosing(response):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_BODY:
                    return None
    except Exception:  # noqa: BLE001  the status was heard, and it speaks also without a body
        return None
    return bytes(body)


def _evidence(fault: Exception) -> NotExecutedError | BackendSilentError:
    name = type(fault).__name__
    if name in NEVER_SENT:
        return ours(NotExecutedError, NEVER_SENT[name])
    return ours(BackendSilentError, MAY_HAVE_ARRIVED.get(name, "unclear"))
