"""How much time is left, in seconds. A remaining time of zero is a number, not "unknown".

Source: PROTOCOL §7; powertools-lambda-python #8386 and #4759 (a lease always has an end).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from lib.contract import BackendClass, Keyed, Lookup

DISPATCH_MARGIN_S = 1.0  # between the last look at the clock and the bytes on the wire
OPEN_TTL_MS = 90 * 24 * 3600 * 1000  # longer than a closed one: a doubt outlives what it doubts
SETTLE_MS = 60_000  # what may still be in flight, for classes that declare no settle time


def settle_ms(backend: BackendClass) -> int:
    """Tell how long what was sent may still be in flight, or not yet visible."""
    match backend:
        case Lookup(settle_time=time) | Keyed(lookup=time) if time is not None:
            return int(time.total_seconds() * 1000)
        case _:
            return SETTLE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds, from the settings (DESIGN §3)."""

    max_duration_s: float
    backend_timeout_s: float
    commit_budget_s: float
    kill_slack_s: float


@dataclass(frozen=True, slots=True)
class Moment:
    """One reading of both clocks, in seconds."""

    steady_s: float
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """A steady clock, and the wall clock that also runs while a function is frozen."""

    steady: Callable[[], float]
    wall: Callable[[], float]

    def now(self) -> Moment:
        """Read both."""
        return Moment(self.steady(), self.wall())

    def since(self, start: Moment) -> float:
        """Tell the seconds passed at most: a frozen process sees only one clock go on."""
        now = self.now()
        return max(0.0, now.steady_s - start.steady_s, now.wall_s - start.wall_s)

    def at_least(self, start: Moment) -> float:
        """Tell the seconds passed at least: the wall clock may have been set."""
        now = self.now()
        return max(0.0, min(now.steady_s - start.steady_s, now.wall_s - start.wall_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """The end of one request, and what must fit before it.

    ends_wall_s: what the platform says, as epoch seconds; None where it says nothing.
    """

    clock: Clock
    started: Moment
    limits: Limits
    ends_wall_s: float | None = None

    def remaining_s(self) -> float:
        """Tell what is left: the earlier of the platform's word and the setting."""
        left = self.limits.max_duration_s - self.clock.since(self.started)
        if self.ends_wall_s is not None:
            left = min(left, self.ends_wall_s - self.clock.wall())
        return max(0.0, left)

    def lease_ms(self) -> int:
        """Tell how long an attempt that begins now may live: until the platform has ended it."""
        return math.ceil((self.remaining_s() + self.limits.kill_slack_s) * 1000)

    def backend_timeout_s(self) -> float:
        """Tell how long the backend may take, so that its answer can still be written down."""
        left_s = self.remaining_s() - self.limits.commit_budget_s
        return max(0.0, min(self.limits.backend_timeout_s, left_s))
