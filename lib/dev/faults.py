"""Faults as data: what a network, a proxy or a dying server does to one request.

One frozen class per kind; `play` does the damage and says what the client gets. `lib/dev/faulty.py`
plans them for a server. "before" and "after" are seen from the execution: a fault after it leaves
the effect in place. Source: PROTOCOL §10.5.
"""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from lib.dev.wire import Answer, Cut, Half, Sent, answer_of

HOLD_LIMIT_S = 30.0  # a forgotten event must not hold a server's shutdown for ever
_POLL_S = 0.005  # a waiting thread per held request would starve the pool that executes
_BAD_GATEWAY = b"<html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>"

type Moment = Literal["before", "after"]
type Wait = float | threading.Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a fault can do with its request: execute it now, any number of times, or later."""

    execute: Callable[[], Awaitable[Answer]]
    execute_later: Callable[[Wait], None]


class Fault(Protocol):
    """One kind of fault on the wire."""

    async def play(self, exchange: Exchange, /) -> Sent:
        """Do the damage, and say what the client gets."""
        ...


@dataclass(frozen=True, slots=True)
class ResetBefore:
    """The connection is reset; nothing is executed."""

    async def play(self, _: Exchange, /) -> Sent:
        """Execute nothing."""
        return Cut(is_reset=True)


@dataclass(frozen=True, slots=True)
class AnswerLost:
    """Executed; then the connection ends without a byte of the answer."""

    is_reset: bool = False

    async def play(self, exchange: Exchange, /) -> Sent:
        """Execute, and throw the answer away."""
        await exchange.execute()
        return Cut(is_reset=self.is_reset)


@dataclass(frozen=True, slots=True)
class HalfAnswer:
    """Executed; then the head of the answer, half of its body, and the end."""

    async def play(self, exchange: Exchange, /) -> Sent:
        """Execute, and send half."""
        return Half(await exchange.execute())


@dataclass(frozen=True, slots=True)
class UnreadableBody:
    """Executed; the status and type are right, the body is not JSON."""

    body: bytes = b'{"id": \xff'

    async def play(self, exchange: Exchange, /) -> Sent:
        """Execute, and replace the body."""
        answer = await exchange.execute()
        kept = tuple(pair for pair in answer.headers if pair[0].lower() != b"content-length")
        length = (b"content-length", str(len(self.body)).encode())
        return replace(answer, headers=(*kept, length), body=self.body)


@dataclass(frozen=True, slots=True)
class Held:
    """Held on the way in or on the way out, for seconds or until an event."""

    at: Moment
    until: Wait

    async def play(self, exchange: Exchange, /) -> Sent:
        """Wait and execute, or execute and wait."""
        if self.at == "before":
            await hold(self.until)
            return await exchange.execute()
        answer = await exchange.execute()
        await hold(self.until)
        return answer


@dataclass(frozen=True, slots=True)
class Replaced:
    """Another answer instead of the server's own: a proxy's page, a 503, any refusal."""

    at: Moment
    answer: Answer

    async def play(self, exchange: Exchange, /) -> Sent:
        """Execute if the answer is replaced on its way out."""
        if self.at == "after":
            await exchange.execute()
        return self.answer


def bad_gateway(at: Moment) -> Replaced:
    """Replace by a proxy's 502 page."""
    return Replaced(at, answer_of(502, "text/html", _BAD_GATEWAY))


def refusal(
    status: int, code: str, *, at: Moment = "before", retry_after_s: int | None = None
) -> Replaced:
    """Replace by a refusal in the form of the items service, for instance 409 `conflict`."""
    body = json.dumps({"error": {"code": code, "message": "planned"}}).encode()
    more = {} if retry_after_s is None else {"retry_after": str(retry_after_s)}
    return Replaced(at, answer_of(status, "application/json", body, **more))


def unavailable(at: Moment) -> Replaced:
    """Replace by a 503, which does not say whether the request was processed."""
    return refusal(503, "unavailable", at=at)


def rate_limited(retry_after_s: int) -> Replaced:
    """Replace by a 429 with Retry-After; nothing is executed."""
    return refusal(429, "rate_limited", retry_after_s=retry_after_s)


@dataclass(frozen=True, slots=True)
class DeliveredTwice:
    """Executed twice, in a row, as if the network had repeated it; the first answer is sent."""

    async def play(self, exchange: Exchange, /) -> Sent:
        """Execute, and execute again."""
        answer = await exchange.execute()
        await exchange.execute()
        return answer


@dataclass(frozen=True, slots=True)
class LandsLate:
    """The client is answered or cut off now; the request is executed when the wait is over."""

    until: Wait
    instead: Answer | Cut = field(default_factory=lambda: bad_gateway("before").answer)

    async def play(self, exchange: Exchange, /) -> Sent:
        """Answer now and leave the request in flight."""
        exchange.execute_later(self.until)
        return self.instead


@dataclass(frozen=True, slots=True)
class HeldInside:
    """Held by the service itself, not by the wire: accepted, its key in use, not executed yet."""

    until: Wait


async def hold(until: Wait) -> None:
    """Wait for seconds, or for an event.

    Raises:  TimeoutError: the event was not set within HOLD_LIMIT_S.
    """
    if not isinstance(until, threading.Event):
        await asyncio.sleep(until)
        return
    async with asyncio.timeout(HOLD_LIMIT_S):
        while not until.is_set():  # noqa: ASYNC110 - the event belongs to another thread
            await asyncio.sleep(_POLL_S)
