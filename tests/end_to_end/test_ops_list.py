"""`lib.ops list` and `show`: many records, broken ones, and names that would deceive a terminal."""

import json

from lib.contract import OperationId, Principal
from lib.machinery.runner.record import Guarantee, Record
from lib.ops.reach import Reached, opened, writing_address
from lib.settings import Settings
from tests.harness.operator import ask_store, ops
from tests.harness.servers import client_of, in_process, settings_of
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

MANY = 230  # more than two batches
EVIL = "\x1b[31m[red]mallory\u202e"


def record(attempt: str) -> Record:
    return Record(
        state="started",
        tool="send_notice",
        backend=Guarantee(kind="none"),
        fingerprint="f",
        reference="r",
        principal=Principal(issuer="https://issuer.test", subject=EVIL),
        attempt=attempt,
        lease_ms=60_000,
        horizon_ms=120_000,
    )


async def claim(stack: Stack, *operation_ids: str) -> None:
    settings = settings_of(stack.env())
    assert isinstance(settings, Settings)
    here = Reached(settings=settings)
    async with opened(here, writing_address(here)) as store:
        for each in operation_ids:
            await store.claim(OperationId(each), record(each))


def number(n: int) -> str:
    return f"{n:08x}".ljust(64, "0")


async def test_a_long_list_is_read_in_batches_and_says_what_it_hides(stack: Stack) -> None:
    await claim(stack, *(number(n) for n in range(MANY)))
    before = len(stack.front.exchanges)

    every = ops(stack.env(), "list", "--json", "--limit", "1000")
    batches = len(stack.front.exchanges) - before
    some = ops(stack.env(), "list", "--limit", "7")

    listed = {each["operation_id"] for each in every.said["operations"]}
    assert (every.code, every.said["total"], batches) == (0, MANY, 4)
    assert listed == {number(n) for n in range(MANY)}
    assert (some.code, f"{MANY} open in production, {MANY - 7} of them not shown." in some.out) == (
        1,
        True,
    )


async def test_first_digits_stand_for_one_open_operation_or_for_none(stack: Stack) -> None:
    await claim(stack, "ab" * 32, "ab" * 8 + "cd" * 24)

    codes = {
        asked: ops(stack.env(), "show", asked, "--json").said
        for asked in ("ab" * 9, "AB" * 9, "ab" * 8, "ab", "cd" * 5, "no id", "cd" * 32)
    }

    assert codes["ab" * 9]["operation_id"] == codes["AB" * 9]["operation_id"] == "ab" * 32
    assert codes["cd" * 32]["next"] == "gone"
    errors = {asked: said["error"]["code"] for asked, said in codes.items() if "error" in said}
    assert errors == {
        "ab" * 8: "ambiguous",
        "ab": "usage",
        "cd" * 5: "not_found",
        "no id": "usage",
    }


async def test_what_is_gone_or_cannot_be_read_is_listed_as_that(stack: Stack) -> None:
    index = "settle:1:open:production"
    ask_store(stack, "ZADD", index, 1, "ab" * 32, 2, "cd" * 32)
    ask_store(stack, "SET", f"settle:1:{'cd' * 32}", '{"v":2}', "PX", 60_000)

    listed = ops(stack.env(), "list", "--json")
    resolved = ops(stack.env(), "resolve", "cd" * 32, "--occurred", "--reason", "Seen", "--json")

    assert [each["next"] for each in listed.said["operations"]] == ["gone", "unreadable"]
    assert (listed.code, resolved.code, resolved.said["resolved"]) == (1, 1, "changed")
    assert ask_store(stack, "GET", f"settle:1:{'cd' * 32}") == '{"v":2}'


async def test_a_name_that_would_deceive_a_terminal_is_shown_escaped(stack: Stack) -> None:
    await claim(stack, "ab" * 32)

    shown = [ops(stack.env(), *asked).out for asked in (("list",), ("show", "ab" * 32))]

    for out in shown:
        assert "\\x1b[31m[red]mallory\\u202e" in out
        assert "\x1b" not in out


async def test_a_settled_operation_is_shown_by_its_full_id_with_its_answer(stack: Stack) -> None:
    async with client_of(in_process(stack.env())) as http:
        done = await Mcp(http=http).settle(
            "create_item", name="lamp", quantity=1, idempotency_key="k"
        )

    shown = ops(stack.env(), "show", done["operation_id"], "--json")

    assert (shown.code, shown.said["next"]) == (0, "settled")
    assert json.loads(shown.said["record"]["answer"]) == done["result"]
    assert ops(stack.env(), "list").out == "Nothing is open in production.\n"
