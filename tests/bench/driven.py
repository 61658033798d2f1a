"""A process that drives one application without sockets and tells the CPU that calls took.

`python -m tests.bench.driven MODULE:NAME [TOOLS]` reads one JSON order per line and answers each
with one line. The measuring process gives orders to several of them in turn.
"""

import asyncio
import gc
import json
import sys
import time
from contextlib import AsyncExitStack
from importlib import import_module
from itertools import count as counting
from pathlib import Path
from typing import Any

import httpx

from tests.bench import asgi

_PAGE = 4096
_keys = counting()


async def query(app: Any, order: dict[str, Any]) -> float:
    """Call the query n times; CPU ms of one."""
    return await _each(order["n"], lambda: asgi.call(app, "get_item", item_id="a1"))


async def listing(app: Any, order: dict[str, Any]) -> float:
    """List the tools n times; CPU ms of one."""
    return await _each(order["n"], lambda: asgi.listing(app))


async def command(app: Any, order: dict[str, Any]) -> float:
    """Call the command n times, under new keys; CPU ms of one."""
    return await _each(order["n"], lambda: _create(app, f"{order['name']}-{next(_keys)}"))


async def replay(app: Any, order: dict[str, Any]) -> float:
    """Call the command n times under one key; CPU ms of one."""
    return await _each(order["n"], lambda: _create(app, order["name"]))


async def exchange(app: Any, order: dict[str, Any]) -> float:
    """Call the query and post one command to the store, n times; CPU ms of both.

    The query before it leaves the caches as a command does, whose exchanges are compared to this.
    """
    headers = {"Authorization": f"Bearer {order['token']}"}
    async with httpx.AsyncClient(timeout=30) as http:

        async def post() -> None:
            answer = await http.post(order["url"], headers=headers, json=order["body"])
            if "error" in answer.json():
                raise RuntimeError(answer.text)

        async def both() -> None:
            await asgi.call(app, "get_item", item_id="a1")
            await post()

        await both()
        return await _each(order["n"], both)


async def duplicates(app: Any, order: dict[str, Any]) -> dict[str, Any]:
    """Make n calls with one key at once; the effects they had, and what they answered."""
    from tests.bench.memory import EFFECTS  # not in a process that drives something else

    before = len(EFFECTS)
    calls = [_create(app, order["name"]) for _ in range(order["n"])]
    answers = [each["structuredContent"] for each in await asyncio.gather(*calls)]
    ends = sorted({f"{each['outcome']}, {each['this_call']}" for each in answers})
    return {"effects": len(EFFECTS) - before, "answers": ends}


async def latency(app: Any, order: dict[str, Any]) -> float:
    """Call the command n times; wall ms of one, the median."""
    taken: list[float] = []
    for _ in range(order["n"]):
        began = time.perf_counter()
        await _create(app, f"{order['name']}-{next(_keys)}")
        taken.append(1000 * (time.perf_counter() - began))
    return sorted(taken)[len(taken) // 2]


async def memory(app: Any, order: dict[str, Any]) -> float:
    """Call the query n times; the MB that this process then holds."""
    for _ in range(order["n"]):
        await asgi.call(app, "get_item", item_id="a1")
    gc.collect()
    return _resident_mb()


ORDERS = {
    each.__name__: each
    for each in (query, listing, command, replay, exchange, duplicates, latency, memory)
}


async def obey(target: str, tools: int | None) -> None:
    """Answer orders until there are none."""
    module, _, name = target.partition(":")
    found: Any = getattr(import_module(module), name)
    app = found if tools is None else found(tools)
    async with AsyncExitStack() as life:
        # A server that needs its lifespan gets it; ours needs none.
        await life.enter_async_context(app.router.lifespan_context(app))
        await asgi.listing(app)
        _say("ready")
        while line := await asyncio.to_thread(sys.stdin.readline):
            order = json.loads(line)
            _say(await ORDERS[order["do"]](app, order))


async def _create(app: Any, key: str) -> dict[str, Any]:
    arguments = {"name": "Lamp", "quantity": 3, "idempotency_key": key}
    return await asgi.call(app, "create_item", **arguments)


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE / 2**20


async def _each(n: int, call: Any) -> float:
    began = time.process_time()
    for _ in range(n):
        await call()
    return 1000 * (time.process_time() - began) / n


def _say(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(obey(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None))
