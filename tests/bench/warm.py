"""Calls in a warm process: CPU against the floor and the peer, and what the store is asked."""

from contextlib import ExitStack
from secrets import token_hex
from typing import Any

from lib.contract import OperationId
from lib.machinery.runner.record import open_index, store_key
from tests.bench.lanes import Lane, in_turn, lane, spread
from tests.harness.servers import ROOT
from tests.harness.stack import STORE_TOKEN, Stack

SETTLE = "tests.bench.memory:memory_app"
DUPLICATES = 64


def warm(stack: Stack, env: dict[str, str], *, rounds: int, has_peer: bool) -> dict[str, Any]:
    """Measure a query, a command and its parts, and listings of 5 and 500 tools."""
    with ExitStack() as open_lanes:
        enter = open_lanes.enter_context
        settle, bare = enter(lane(SETTLE, env, tools=2)), enter(lane("tests.bench.bare:app", env))
        few, many = enter(lane(SETTLE, env, tools=5)), enter(lane(SETTLE, env, tools=500))
        asked = {
            "query": lambda: settle.ask("query", n=200),
            "query, bare": lambda: bare.ask("query", n=200),
            "command": lambda: settle.ask("command", n=50, name=token_hex(8)),
            "replay": lambda: settle.ask("replay", n=50, name=token_hex(8)),
            "query and exchange": lambda: settle.ask("exchange", n=50, **_claim(stack)),
            "list of 5": lambda: few.ask("listing", n=50),
            "list of 500": lambda: many.ask("listing", n=5),
        }
        if has_peer:
            peer = enter(lane("tests.bench.peer:app", env))
            asked["query, peer"] = lambda: peer.ask("query", n=200)
        taken = in_turn(asked, rounds)
        counts = counted(stack, settle)
    return {"cpu_ms": {name: spread(values) for name, values in taken.items()}, "store": counts}


def counted(stack: Stack, settle: Lane) -> dict[str, Any]:
    """Count what one command, its replay, and its duplicates at once ask of the store."""
    key = token_hex(8)
    settle.ask("replay", n=1, name=token_hex(8))  # the connection is open from here on
    found: dict[str, Any] = {}
    for name in ("command", "replay"):
        before = len(stack.front.exchanges)
        settle.ask("replay", n=1, name=key)
        sent = stack.front.exchanges[before:]
        found[name] = {"round_trips": len(sent), "billed": sum(each.billed for each in sent)}
    before = len(stack.front.exchanges)
    ended = settle.ask("duplicates", n=DUPLICATES, name=token_hex(8))
    trips = len(stack.front.exchanges) - before
    of_each = (trips - found["command"]["round_trips"]) / (DUPLICATES - 1)
    found["duplicates"] = {**ended, "round_trips": trips, "per_duplicate": round(of_each, 2)}
    return found


def _claim(stack: Stack) -> dict[str, Any]:
    # The same script that a claim runs, on a key that is taken from the second time on.
    operation = OperationId("0" * 64)
    keys = [store_key(operation), open_index("bench")]
    arguments = ["x" * 600, 60_000, operation, 1]
    script = (ROOT / "lib" / "machinery" / "runner" / "claim.lua").read_text()
    body = ["EVAL", script, len(keys), *keys, *arguments]
    return {"url": stack.store_url, "token": STORE_TOKEN, "body": body}
