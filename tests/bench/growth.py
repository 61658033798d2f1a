"""How it grows: with calls at once, with tools, with the store's distance, and with time."""

from collections.abc import Iterator
from contextlib import ExitStack
from secrets import token_hex
from typing import Any

from lib.dev.faults import Held
from tests.bench.lanes import in_turn, lane
from tests.bench.load import loaded
from tests.bench.warm import SETTLE
from tests.harness.servers import running_server
from tests.harness.stack import Stack

AT_ONCE = (1, 8, 64, 256)
TOOLS = (2, 5, 50, 200, 500)
STORE_MS = (0, 1, 10, 50)
SAMPLES = 10


def growth(stack: Stack, env: dict[str, str], *, calls: int, long_run: int) -> dict[str, Any]:
    """Measure each in turn."""
    return {
        "calls_at_once": list(_calls_at_once(env, calls)),
        "tools": _tools(env),
        "store_ms": list(_store_ms(stack, env)),
        "memory": _memory(env, long_run),
    }


def _calls_at_once(env: dict[str, str], calls: int) -> Iterator[dict[str, Any]]:
    with ExitStack() as running:
        ours = running.enter_context(running_server(env, target="tests.bench.served:app"))
        bare = running.enter_context(running_server(env, target="tests.bench.bare:app"))
        for server in (ours, bare):
            loaded(server, at_once=1, calls=100)
        for at_once in AT_ONCE:
            for name, server in (("settle", ours), ("bare", bare)):
                yield {"server": name, **loaded(server, at_once=at_once, calls=calls)}


def _tools(env: dict[str, str]) -> list[dict[str, Any]]:
    with ExitStack() as running:
        lanes = {n: running.enter_context(lane(SETTLE, env, tools=n)) for n in TOOLS}
        listings = in_turn({str(n): _lister(each) for n, each in lanes.items()}, 5)
        queries = in_turn({str(n): _caller(each) for n, each in lanes.items()}, 5)
    return [
        {
            "tools": n,
            "list_ms": round(min(listings[str(n)]), 3),
            "query_ms": round(min(queries[str(n)]), 3),
        }
        for n in TOOLS
    ]


def _lister(each: Any) -> Any:
    return lambda: each.ask("listing", n=10)


def _caller(each: Any) -> Any:
    return lambda: each.ask("query", n=100)


def _store_ms(stack: Stack, env: dict[str, str]) -> Iterator[dict[str, Any]]:
    with lane(SETTLE, env, tools=2) as settle:
        settle.ask("latency", n=SAMPLES, name=token_hex(8))
        for ms in STORE_MS:
            stack.store_faults.clear()
            if ms:
                stack.store_faults.plan(Held("before", ms / 1000), count=None)
            taken = settle.ask("latency", n=SAMPLES, name=token_hex(8))
            yield {"store_ms": ms, "command_ms": round(taken, 2)}
        stack.store_faults.clear()


def _memory(env: dict[str, str], long_run: int) -> list[dict[str, Any]]:
    step = long_run // 10
    with lane(SETTLE, env, tools=2) as settle:
        return [
            {"calls": number * step, "mb": round(settle.ask("memory", n=step), 2)}
            for number in range(1, 11)
        ]
