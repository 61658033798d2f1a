"""Whether the store can be reached, how fast, what it may throw away, and what each token may do.

A token is tried with one key, `settle:1:doctor:…`, that expires within seconds by itself.
Source: PROTOCOL §9 (doctor); DESIGN §3 (tokens); Upstash's documentation of eviction.
"""

from secrets import token_hex
from statistics import median

from lib.machinery.runner.store import Json, Store, StoreSilentError
from lib.ops.findings import Finding
from lib.ops.moves import PREFIX, check_moves
from lib.ops.reach import CLOCK, Reached, opened, reason_of
from lib.settings import Address

PINGS = 5
SLOW_MS = 50
TRIED_MS = 5_000
NOT_ALLOWED = "NOPERM"  # the store knows the token, and refuses it this command
NO_EVICTION = "noeviction"
SEE_CONSOLE = "See in the database's console that eviction is off, then `--accept store_eviction`."
EVICTS = (
    "Turn eviction off, and give Settle a database of its own: where memory runs out this one"
    " throws away records, and with them the proof of what was done."
)


async def check_stores(here: Reached) -> list[Finding]:
    """Try each token that this environment has."""
    found = await _check_main(here)
    read_only = here.settings.read_only_token
    if here.settings.store_url is None or read_only is None:
        return [*found, Finding("store_read_only", "skipped", "no read-only token is set")]
    address = Address(url=here.settings.store_url.rstrip("/"), token=read_only)
    return [*found, await _check_read_only(here, address)]


async def _check_main(here: Reached) -> list[Finding]:
    writing = here.settings.write_store
    address = writing or here.settings.read_store
    if address is None:
        return [Finding("store", "skipped", "this environment has no store")]
    if faulty := here.faults_of(address):
        why = f"not tried before {', '.join(faulty)} is put right"
        return [Finding("store", "skipped", why)]
    async with opened(here, address) as store:
        reached = await _reachable(store)
        if reached.status != "ok":
            return [reached]
        found = [reached, await _round_trip(store)]
        if writing is None:
            why = "a preview without scratch systems keeps no records"
            return [*found, Finding("store_write", "skipped", why)]
        return [*found, await _eviction(store), *await _check_write(store)]


async def _reachable(store: Store) -> Finding:
    try:
        said = await _ask(store, "PING")
    except StoreSilentError as silence:
        reason = reason_of(silence)
        advice = (
            "The store does not accept this token: set it anew, then deploy."
            if reason == "WRONGPASS"
            else "Check KV_REST_API_URL (or UPSTASH_REDIS_REST_URL), and that the database exists."
        )
        return Finding("store", "failed", f"no usable answer ({reason})", advice)
    if said != "PONG":
        advice = "Check that the URL is the REST address of a Redis database."
        return Finding("store", "failed", "something else answers there", advice)
    return Finding("store", "ok", "answers")


async def _round_trip(store: Store) -> Finding:
    taken_ms: list[float] = []
    for _ in range(PINGS):
        start = CLOCK.now()
        try:
            await _ask(store, "PING")
        except StoreSilentError as silence:
            return _broke_off("store_round_trip", silence)
        taken_ms.append(CLOCK.since(start) * 1000)
    middle = median(taken_ms)
    seen = f"{middle:.1f} ms from here, the median of {PINGS}"
    if middle <= SLOW_MS:
        return Finding("store_round_trip", "ok", seen)
    advice = (
        "A command takes two of these. Put the function's region beside the database's primary;"
        " where only this machine is far away, `--accept store_round_trip`."
    )
    return Finding("store_round_trip", "attention", f"{seen}: above {SLOW_MS} ms", advice)


async def _eviction(store: Store) -> Finding:
    try:
        said = str(await _ask(store, "INFO", "memory"))
    except StoreSilentError as silence:
        seen = f"not shown ({reason_of(silence)})"
        return Finding("store_eviction", "attention", seen, SEE_CONSOLE)
    facts = {name: value for name, _, value in (line.partition(":") for line in said.split())}
    policy, limit = facts.get("maxmemory_policy"), facts.get("maxmemory")
    if policy == NO_EVICTION:
        return Finding("store_eviction", "ok", "off: noeviction")
    if limit == "0":
        return Finding("store_eviction", "ok", "off: memory has no limit")
    if policy is None:
        return Finding("store_eviction", "attention", "not shown by this store", SEE_CONSOLE)
    return Finding("store_eviction", "failed", f"on: {policy}", EVICTS)


async def _check_write(store: Store) -> list[Finding]:
    try:
        wrote = await _may_write(store)
    except StoreSilentError as silence:
        return [_broke_off("store_write", silence)]
    if wrote:
        return [Finding("store_write", "ok", "this token writes"), *await check_moves(store)]
    advice = (
        "KV_REST_API_TOKEN (or UPSTASH_REDIS_REST_TOKEN) holds a read-only token, so every command"
        " is refused: set the read-write one there."
    )
    return [Finding("store_write", "failed", "this token cannot write", advice)]


async def _check_read_only(here: Reached, address: Address) -> Finding:
    check = "store_read_only"
    if faulty := here.faults_of(address):
        return Finding(check, "skipped", f"not tried before {', '.join(faulty)} is put right")
    async with opened(here, address) as store:
        try:
            await _ask(store, "GET", f"{PREFIX}{token_hex(8)}")
            wrote = await _may_write(store)
        except StoreSilentError as silence:
            return _broke_off(check, silence)
    if not wrote:
        return Finding(check, "ok", "reads, and is refused a write")
    advice = (
        "KV_REST_API_READ_ONLY_TOKEN can write: it is the read-write token, or one like it."
        " Set the database's read-only token, above all in previews."
    )
    return Finding(check, "failed", "can write", advice)


async def _may_write(store: Store) -> bool:
    key = f"{PREFIX}{token_hex(8)}"
    try:
        await _ask(store, "SET", key, "tried", "PX", TRIED_MS)
    except StoreSilentError as silence:
        if reason_of(silence) == NOT_ALLOWED:
            return False
        raise
    await _ask(store, "DEL", key)
    return True


async def _ask(store: Store, *command: str | int) -> Json:
    return await store.bounded(lambda: store.redis.execute([*command]))


def _broke_off(check: str, silence: StoreSilentError) -> Finding:
    advice = "Run the doctor again; if it stays so, look at the store's status and quota."
    return Finding(check, "failed", f"no usable answer ({reason_of(silence)})", advice)
