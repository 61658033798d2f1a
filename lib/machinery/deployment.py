"""One deployment: what it offers, what it may do, and the clients it shares between requests.

Nothing here connects before a request needs it; a client belongs to the event loop that made it.
Source: DESIGN §2, §3; facts of asyncio: an HTTP client dies with its loop.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lib.contract import Command, Keyed, Principal, Scope
from lib.machinery.catalogue import Catalogue
from lib.machinery.gate.auth import Authenticator
from lib.machinery.gate.decide import COMMAND_SCOPE, QUERY_SCOPE, Denied, Grant, Reach, decide
from lib.machinery.loading import loading
from lib.machinery.runner.deadline import (
    DISPATCH_MARGIN_S,
    OPEN_TTL_MS,
    SETTLE_MS,
    Clock,
    Deadline,
    Limits,
    settle_ms,
)
from lib.settings import Address, Misconfigured, SettingFault, Settings

if TYPE_CHECKING:
    from mcp.server import Server

    from lib.machinery.runner.store import Store

NOTHING = Grant(principal=Principal(issuer="", subject=""), scopes=frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambient:
    """What only the outermost module may fetch: clocks, randomness, the platform's deadline.

    platform_end: epoch seconds at which the platform ends this request; None where it says nothing.
    """

    clock: Clock
    new_id: Callable[[], str]
    platform_end: Callable[[], float | None]


class PerLoop[T]:
    """One value per event loop, opened when it is first asked for, closed when the loop ends.

    A loop that shuts down closes the generators it has seen, so no lifespan has to do it.
    """

    def __init__(self, lifetime: Callable[[], AsyncGenerator[T]]) -> None:
        self._lifetime = lifetime
        self._open: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[T]]] = {}

    async def get(self) -> T:
        """Give the running loop's value."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            self._open = {at: held for at, held in self._open.items() if not at.is_closed()}
            lifetime = self._lifetime()
            self._open[loop] = (await anext(lifetime), lifetime)
        return self._open[loop][0]


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A server without setting faults."""

    settings: Settings
    catalogue: Catalogue
    ambient: Ambient

    @cached_property
    def reach(self) -> Reach:
        """What the gate must know of it."""
        return Reach(has_commands=self.settings.write_backend is not None)

    @cached_property
    def authenticator(self) -> Authenticator:
        """The configured credentials."""
        return Authenticator.of(self.settings)

    @cached_property
    def server(self) -> "Server[Any]":
        """The SDK's server, imported and built by the first call that may pass."""
        with loading("lib.machinery.server"):
            from lib.machinery.server import is_traced, mcp_server

        return mcp_server(self, with_spans=is_traced())

    def scopes(self, endpoint: str) -> tuple[Scope, ...]:
        """Name every scope that some tool of an endpoint needs, the kinds' own first."""
        denied = [decide(NOTHING, self.reach, endpoint, tool) for tool in self.catalogue.tools]
        needed = {scope for each in denied if isinstance(each, Denied) for scope in each.scopes}
        return tuple(sorted(needed, key=_kind_first))

    @cached_property
    def _write_store(self) -> "PerLoop[Store]":
        settings, wall = self.settings, self.ambient.clock.wall
        return PerLoop(lambda: open_store(settings, settings.write_store, wall))

    @cached_property
    def _read_store(self) -> "PerLoop[Store]":
        settings, wall = self.settings, self.ambient.clock.wall
        return PerLoop(lambda: open_store(settings, settings.read_store, wall))

    def deadline(self) -> Deadline:
        """Start the clock of one request."""
        clock = self.ambient.clock
        return Deadline(
            clock=clock,
            started=clock.now(),
            limits=Limits(
                max_duration_s=self.settings.max_duration_s,
                backend_timeout_s=self.settings.backend_timeout_s,
                commit_budget_s=self.settings.commit_budget_s,
                kill_slack_s=self.settings.kill_slack_s,
            ),
            ends_wall_s=self.ambient.platform_end(),
        )

    async def store(self) -> "Store":
        """Give the records, to change them."""
        return await self._write_store.get()

    async def reading_store(self) -> "Store":
        """Give the records, to look at them with the least power there is."""
        return await self._read_store.get()


def deploy(
    settings: Settings | Misconfigured, catalogue: Catalogue, ambient: Ambient
) -> Deployment | Misconfigured:
    """Join settings and tools, unless one lacks what the other needs."""
    faults = ()
    if isinstance(settings, Misconfigured):
        settings, faults = settings.settings, settings.faults
    faults = (*faults, *_unmet(settings, catalogue))
    if faults:
        return Misconfigured(settings, faults)
    return Deployment(settings=settings, catalogue=catalogue, ambient=ambient)


def _kind_first(scope: Scope) -> tuple[bool, bool, str]:
    return (scope != QUERY_SCOPE, scope != COMMAND_SCOPE, scope)


def _unmet(settings: Settings, catalogue: Catalogue) -> Iterator[SettingFault]:
    has_commands = settings.kind != "preview" or settings.scratch_backend_url is not None
    if has_commands and catalogue.needs_approval and settings.state_key is None:
        yield SettingFault("STATE_KEY", "missing; a tool needs approval, which it seals")
    commands = [tool for tool in catalogue.tools if isinstance(tool, Command)]
    # Its first look at the clock comes after the claim, so equal is too little.
    least_s = settings.commit_budget_s + DISPATCH_MARGIN_S
    if has_commands and commands and settings.max_duration_s <= least_s:
        yield SettingFault("MAX_DURATION_S", "with COMMIT_BUDGET_S too short to send any command")
    yield from _outlived(settings, commands)


def _outlived(settings: Settings, commands: list[Command[Any, Any]]) -> Iterator[SettingFault]:
    is_long = settings.max_duration_s >= settings.kill_slack_s
    names = ("MAX_DURATION_S", "KILL_SLACK_S") if is_long else ("KILL_SLACK_S", "MAX_DURATION_S")
    lease_s = settings.max_duration_s + settings.kill_slack_s
    for command in commands:
        what = f"with {names[1]} too long for"
        horizon_s = lease_s + settle_ms(command.backend) / 1000
        if horizon_s >= OPEN_TTL_MS / 1000:  # absence would count before it is sure
            yield SettingFault(names[0], f"{what} a record of {command.name}, kept 90 days")
        # A tenth of a key window is slack: what is still in flight when it ends must have landed.
        slack_s, backend = lease_s + SETTLE_MS / 1000, command.backend
        if isinstance(backend, Keyed) and backend.window.total_seconds() < 10 * slack_s:
            yield SettingFault(names[0], f"{what} the key window of {command.name}")


async def open_store(
    settings: Settings, address: Address | None, wall: Callable[[], float]
) -> "AsyncGenerator[Store]":
    """Reach an environment's records with one credential, until the generator is closed.

    Args: wall: a clock, in epoch seconds.
    """
    from upstash_redis.asyncio import Redis

    from lib.machinery.runner.store import Store

    if address is None:
        raise RuntimeError("the gate let a call through that this deployment has no store for")
    # Its own retries re-send anything, also what was executed; a move knows whether it may.
    client = Redis(url=address.url, token=address.token, rest_retries=0, allow_telemetry=False)
    async with client:
        yield Store(
            redis=client,
            environment=settings.vercel_env,
            timeout_s=settings.store_timeout_s,
            now_ms=lambda: int(wall() * 1000),
        )
