"""Every call of the items adapter, and what an exchange proved to it as a comparable value."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping

import httpx
import respx

from lib.backend.items import Changes, Items
from lib.contract import BackendError, Call, PageArguments, Principal
from lib.settings import Address

URL = "http://items.test"
READ_TOKEN, WRITE_TOKEN = "reads", "writes"
REFERENCE = "5e" * 32
ANN = Principal(issuer="tests", subject="ann")
QUERY = Call(principal=ANN, timeout_s=5)
COMMAND = Call(principal=ANN, timeout_s=5, reference=REFERENCE)
ITEM = {"id": "i1", "name": "bolt", "quantity": 3, "version": 1}

type Act = Callable[[Items], Awaitable[object]]
type Acts = Mapping[str, Act]
type Proof = tuple[str, str, int | None]

QUERIES: Acts = {
    "find": lambda items: items.find("i1", QUERY),
    "page": lambda items: items.page(PageArguments(), QUERY),
    "search": lambda items: items.page(PageArguments(cursor="c 1"), QUERY, text="a&b"),
}
COMMANDS: Acts = {
    "create": lambda items: items.create("bolt", 3, COMMAND),
    "change": lambda items: items.change("i1", Changes(quantity=4), COMMAND),
    "delete": lambda items: items.delete("i1", COMMAND),
    "notify": lambda items: items.notify("i1", "hello", COMMAND),
}
ASK: Acts = {"ask": lambda items: items.changes_made(COMMAND)}
QUESTIONS: Acts = {**QUERIES, **ASK}
EVERY: Acts = {**QUESTIONS, **COMMANDS}


def items_at(url: str = URL) -> Items:
    read, write = Address(url=url, token=READ_TOKEN), Address(url=url, token=WRITE_TOKEN)
    return Items(read=read, write=write)


async def proof_of(done: Awaitable[object]) -> object:
    """Await one call: its result, or its error's class, code and time."""
    try:
        return await done
    except BackendError as error:
        return type(error).__name__, error.code, error.after_ms


def proofs(acts: Acts, answers: Iterable[httpx.Response | Exception]) -> dict[str, list[object]]:
    """Give each call each answer, once: nothing may be sent twice, whatever comes back."""

    async def run() -> dict[str, list[object]]:
        items, told = items_at(), {name: list[object]() for name in acts}
        with respx.mock() as wire:
            sent = wire.route()
            for answer in answers:
                for name, act in acts.items():
                    sent.side_effect = [answer]
                    told[name].append(await proof_of(act(items)))
            assert sent.call_count == sum(map(len, told.values()))
        return told

    return asyncio.run(run())


def each(acts: Acts, *expected: object) -> dict[str, list[object]]:
    """Expect the same of every call."""
    return {name: [*expected] for name in acts}
