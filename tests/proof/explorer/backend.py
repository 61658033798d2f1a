"""What a backend of each class may do with a request or a question (PROTOCOL §5), and no more.

Whatever the class, it may refuse before it looks at any key (401, 429): a refusal proves nothing
about the requests before it.
"""

from collections.abc import Iterator

from lib.machinery.runner.record import Guarantee
from tests.proof.explorer.model import HOUR_MS, Backend, State


def landed(
    backend: Backend, promise: Guarantee, who: int, fly: int
) -> Iterator[tuple[str, Backend]]:
    """Every way a request may be received: the reply, and the backend afterwards."""
    yield _accepted(backend, promise, who, fly)
    yield "refused", backend
    yield "not_done", backend
    if promise.kind == "keyed" and not promise.sticky:
        yield "by_key", backend  # so it says, but it stores no refusals
    if promise.sticky and not backend.key:
        yield "refused", backend._replace(key="refused", key_age=0)


def _accepted(backend: Backend, promise: Guarantee, who: int, fly: int) -> tuple[str, Backend]:
    if promise.kind == "keyed" and backend.key == "refused":
        return "by_key", backend
    if promise.kind == "keyed" and backend.key == "done":
        return ("ok" if backend.effects[who] else "refused"), backend
    if promise.kind == "unique" and any(backend.effects):
        return "duplicate", backend
    first, other = backend.effects
    effects = (first + 1, other) if who == 0 else (first, other + 1)
    changed = backend._replace(effects=effects)
    if promise.kind == "keyed":
        changed = changed._replace(key="done", key_age=0)
    return "ok", changed._replace(hidden=fly) if promise.can_ask else changed


def is_deaf(backend: Backend, promise: Guarantee) -> bool:
    """Tell whether another request can make no effect, as long as it may be under way."""
    if promise.kind == "keyed":
        return bool(backend.key)
    return promise.kind == "unique" and any(backend.effects)


def orphaned(state: State, promise: Guarantee, sender: int, beyond_ms: int) -> State:
    """Nobody waits for this sender's request any more; the dead wait until their lease ends."""
    last = promise.settle_ms + beyond_ms
    flights = (
        one._replace(fly=min(one.fly, last), waits=-1) if one.waits == sender else one
        for one in state.flights
    )
    if is_deaf(state.backend, promise):
        flights = (one for one in flights if one.waits >= 0 or one.is_bare)
    return state._replace(flights=tuple(sorted(flights)))


def shown(backend: Backend, who: int) -> Iterator[str]:
    """Every answer to a question by reference: found, absent, or unclear."""
    if backend.effects[who]:
        yield "found"
    if not any(backend.effects) or backend.hidden:
        yield "absent"
    yield "unclear"


def answer(backend: Backend, promise: Guarantee, who: int) -> str:
    """The answer that a success carries: a backend that deduplicates repeats its first."""
    count = 1 if promise.kind in {"keyed", "unique"} else backend.effects[who]
    return str(who) + "." + str(count)


def aged(backend: Backend, promise: Guarantee, ms: int) -> Backend:
    """The backend `ms` later: keys are forgotten, effects become visible.

    Only hours age a key: what must hold keeps a tenth of the window, some hours, as its margin.
    """
    if backend.key:
        key_age = backend.key_age + ms // HOUR_MS * HOUR_MS
        if key_age >= (promise.window_ms or 0):
            backend = backend._replace(key="", key_age=0)
        else:
            backend = backend._replace(key_age=key_age)
    return backend._replace(hidden=max(0, backend.hidden - ms))
