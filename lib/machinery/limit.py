"""How often one principal may call: a counter in the store, so it survives instances.

Imported only where RATE_LIMIT_PER_MINUTE is set; it costs one store round trip more.
Source: DESIGN §7 (open for queries, closed for commands); Upstash Ratelimit, fixed window.
"""

import math
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from upstash_ratelimit.asyncio import FixedWindow, Ratelimit

from lib.machinery.caller import Caller
from lib.machinery.runner.store import StoreSilentError

WINDOW_S = 60


@dataclass(frozen=True, slots=True)
class Beyond:
    """The window is used up; it opens again after `after_ms`."""

    after_ms: int


async def counted(caller: Caller, per_minute: int) -> Beyond | Literal["within", "silent"]:
    """Count one call of a principal against its limit."""
    deployment = caller.deployment
    if not deployment.reach.has_commands:  # a preview that cannot write has nothing to count in
        return "within"
    store = await deployment.store()
    who = caller.grant.principal
    name = sha256(f"{len(who.issuer)}:{who.issuer}{who.subject}".encode()).hexdigest()
    limiter = Ratelimit(
        redis=store.redis,  # pyright: ignore[reportArgumentType]  it is the client that `_redis` made
        limiter=FixedWindow(max_requests=per_minute, window=WINDOW_S, unit="s"),
        prefix=f"settle:1:rate:{deployment.settings.vercel_env}",
    )
    try:
        used = await store.bounded(lambda: limiter.limit(name))
    except StoreSilentError:
        return "silent"
    if used.allowed:
        return "within"
    return Beyond(max(1, math.ceil((used.reset - deployment.ambient.clock.wall()) * 1000)))
