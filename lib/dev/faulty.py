"""A server whose requests suffer the faults planned for them, and which remembers what it saw.

`faulty` stands between the socket and any ASGI app; for each request it plays the first planned
fault whose predicate holds. Nothing is planned by default: then the app behaves as if not wrapped.
"""

import asyncio
import hashlib
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from starlette.types import ASGIApp, Receive, Scope, Send

from lib.dev.faults import Exchange, Fault, HeldInside, Wait, hold
from lib.dev.wire import Answer, Request, execute, read_request, send_out

SEEN_KEPT = 10_000  # requests remembered for inspection; a dev server runs for days

type Match = Callable[[Request], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is remembered of a request, so that a test can assert the header on the wire."""

    method: str
    path: str
    idempotency_key: str | None
    reference: str | None
    body_sha256: str


@dataclass(slots=True, kw_only=True)
class _Planned:
    fault: Fault | HeldInside
    on: Match
    left: int | None


def any_request(_: Request) -> bool:
    """Match every request."""
    return True


def call(method: str, path: str = "") -> Match:
    """Match one method on the paths that start with `path`."""
    return lambda request: request.method == method and request.path.startswith(path)


class Faults:
    """The faults planned for one server and what became of them; usable from any thread."""

    def __init__(self) -> None:
        self._planned: list[_Planned] = []
        self._fired: list[Fault | HeldInside] = []
        self._landed = 0
        self._seen: deque[Seen] = deque(maxlen=SEEN_KEPT)
        self._in_flight: set[asyncio.Task[None]] = set()
        self._changed = threading.Condition()

    def plan(
        self, fault: Fault | HeldInside, *, on: Match = any_request, count: int | None = 1
    ) -> None:
        """Let the next `count` requests that match suffer `fault`; None means every one."""
        with self._changed:
            self._planned.append(_Planned(fault=fault, on=on, left=count))

    def clear(self) -> None:
        """Forget what is still planned."""
        with self._changed:
            self._planned.clear()

    @property
    def fired(self) -> tuple[Fault | HeldInside, ...]:
        """The faults that were played, in their order: the proof that a plan was met."""
        with self._changed:
            return tuple(self._fired)

    @property
    def seen(self) -> tuple[Seen, ...]:
        """The last SEEN_KEPT requests, each once, also if it was executed twice or never."""
        with self._changed:
            return tuple(self._seen)

    def wait_fired(self, count: int = 1, *, timeout_s: float = 5.0) -> bool:
        """Wait until `count` faults have fired; False if they did not in time."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._fired) >= count, timeout_s)

    def wait_landed(self, count: int = 1, *, timeout_s: float = 5.0) -> bool:
        """Wait until `count` late requests were executed; False if they were not in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._landed >= count, timeout_s)

    def take(self, request: Request) -> Fault | None:
        """Consume the first planned fault of the wire that matches."""
        fault = self._take(request, is_inside=False)
        return None if isinstance(fault, HeldInside) else fault

    async def hold_inside(self, request: Request) -> None:
        """Play the hold planned for the inside of a service, if there is one for this request."""
        fault = self._take(request, is_inside=True)
        if isinstance(fault, HeldInside):
            await hold(fault.until)

    def _take(self, request: Request, *, is_inside: bool) -> Fault | HeldInside | None:
        with self._changed:
            for planned in self._planned:
                is_kind = isinstance(planned.fault, HeldInside) == is_inside
                if is_kind and planned.left != 0 and planned.on(request):
                    planned.left = None if planned.left is None else planned.left - 1
                    self._fired.append(planned.fault)
                    self._changed.notify_all()
                    return planned.fault
        return None

    def remember(self, request: Request) -> None:
        """Note that a request arrived, whatever becomes of it."""
        seen = Seen(
            method=request.method,
            path=request.path,
            idempotency_key=request.headers.get("idempotency-key"),
            reference=request.headers.get("x-reference"),
            body_sha256=hashlib.sha256(request.body).hexdigest(),
        )
        with self._changed:
            self._seen.append(seen)
            self._changed.notify_all()

    def land_later(self, execute: Callable[[], Awaitable[Answer]], until: Wait) -> None:
        """Execute when the wait is over, whether or not anybody listens; needs a running loop."""
        flight = asyncio.get_running_loop().create_task(self._land(execute, until))
        self._in_flight.add(flight)
        flight.add_done_callback(self._in_flight.discard)

    async def _land(self, execute: Callable[[], Awaitable[Answer]], until: Wait) -> None:
        await hold(until)
        await execute()
        with self._changed:
            self._landed += 1
            self._changed.notify_all()


def faulty(app: ASGIApp, faults: Faults, *, max_body: int) -> ASGIApp:
    """Wrap `app` so that each request suffers the fault planned for it.

    Args:    max_body: bytes; a longer body reaches the app cut off just past them, to be refused.
    """

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        request = await read_request(scope, receive, max_body=max_body)
        if request is None:
            return
        faults.remember(request)
        run = partial(execute, app, scope, request.body)
        fault = faults.take(request)
        if fault is None:
            sent = await run()
        else:
            later = partial(faults.land_later, run)
            sent = await fault.play(Exchange(execute=run, execute_later=later))
        await send_out(sent, receive, send)

    return wrapped
