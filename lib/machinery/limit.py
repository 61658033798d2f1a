"""How often one principal may call: a counter in the store, so it survives instances.

Imported only where RATE_LIMIT_PER_MINUTE is set; it costs one store round trip more. While the
store is silent, queries go on and commands do not.
Source: Upstash Ratelimit, fixed window.
"""

import math
from hashlib import sha256

from upstash_ratelimit.asyncio import FixedWindow, Ratelimit

from lib.machinery.caller import Caller
from lib.machinery.outcome import RATE_LIMITED, NotExecuted, StoreUnavailable
from lib.machinery.runner.holding import STORE_RETRY_MS
from lib.machinery.runner.store import StoreSilentError

WINDOW_S = 60


async def counted(caller: Caller, per_minute: int) -> NotExecuted | StoreUnavailable | None:
    """Count one call of a principal against its limit; None where it may go on."""
    deployment = caller.deployment
    if not deployment.reach.has_commands:  # a preview that cannot write has nothing to count in
        return None
    store = await deployment.store()
    who = caller.grant.principal
    name = sha256(f"{len(who.issuer)}:{who.issuer}{who.subject}".encode()).hexdigest()
    limiter = Ratelimit(
        redis=store.redis,  # pyright: ignore[reportArgumentType]  it is the client that `open_store` made
        limiter=FixedWindow(max_requests=per_minute, window=WINDOW_S, unit="s"),
        prefix=f"settle:1:rate:{deployment.settings.vercel_env}",
    )
    try:
        used = await store.bounded(lambda: limiter.limit(name))
    except StoreSilentError:
        return StoreUnavailable(after_ms=STORE_RETRY_MS)
    if used.allowed:
        return None
    after_ms = max(1, math.ceil((used.reset - deployment.ambient.clock.wall()) * 1000))
    return NotExecuted(fault=RATE_LIMITED, after_ms=after_ms, side_effect="unknown")
