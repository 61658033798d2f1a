"""A person settles what nobody else can: real deaths, real commands, the store's own clock."""

import asyncio
import json
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from lib.dev.faults import AnswerLost, Held
from lib.dev.faulty import call
from lib.dev.store_faults import naming, nth
from tests.harness.operator import Ran, let_age, open_ids, ops
from tests.harness.servers import Process, client_of, in_process, running_server
from tests.harness.stack import READ_TOKEN, WRITE_TOKEN, Stack
from tests.harness.wire import Mcp

LEASE_S, SETTLE_S = 35, 60  # MAX_DURATION_S + KILL_SLACK_S below; what class none declares
LONG = {"MAX_DURATION_S": "30", "BACKEND_TIMEOUT_S": "20", "KILL_SLACK_S": "5"}


def make_item(stack: Stack) -> str:
    headers = {"Authorization": f"Bearer {WRITE_TOKEN}", "Idempotency-Key": "made-for-a-test"}
    body = {"name": "lamp", "quantity": 1}
    return httpx.post(f"{stack.items_url}/items", headers=headers, json=body).json()["id"]


async def notify(http: httpx.AsyncClient, item_id: str) -> dict[str, Any]:
    notice = {"item_id": item_id, "message": "It is back.", "idempotency_key": "n"}
    return await Mcp(http=http).settle("send_notice", **notice)


async def retry(stack: Stack, item_id: str) -> dict[str, Any]:
    async with client_of(in_process(stack.env(**LONG))) as http:
        return await notify(http, item_id)


async def call_server(url: str, item_id: str) -> dict[str, Any] | None:
    async with httpx.AsyncClient(base_url=url, timeout=30) as http:
        try:
            return await notify(http, item_id)
        except httpx.TransportError:
            return None


type Calling = Future[dict[str, Any] | None]


@contextmanager
def sent_notice(stack: Stack, item_id: str) -> Generator[tuple[Process, Calling, threading.Event]]:
    """Have a real server send a notice whose answer waits: it is delivered, and not committed."""
    answers = threading.Event()
    stack.items.faults.plan(Held("after", answers), on=call("POST", "/notices"))
    with running_server(stack.env(**LONG)) as process, ThreadPoolExecutor(1) as pool:
        try:
            calling = pool.submit(lambda: asyncio.run(call_server(process.url, item_id)))
            until = time.monotonic() + 5
            while stack.items.effects().notices == 0 and time.monotonic() < until:
                time.sleep(0.01)
            assert stack.items.effects().notices == 1
            yield process, calling, answers
        finally:
            answers.set()


def die(stack: Stack, item_id: str) -> str:
    """Kill a server between the backend's write and the commit; give the operation."""
    with sent_notice(stack, item_id) as (process, calling, _):
        process.kill()
        assert process.was_killed
        assert calling.result(5) is None
    (operation_id,) = open_ids(stack)
    return operation_id


def resolve(stack: Stack, operation_id: str, word: str = "--occurred") -> Ran:
    env = stack.env(**LONG, STORE_TIMEOUT_S="10")
    return ops(env, "resolve", operation_id, word, "--reason", "Seen in the outbox", "--json")


async def test_a_dead_notice_is_a_persons_to_resolve_past_its_horizon_and_not_before(
    stack: Stack,
) -> None:
    item_id = make_item(stack)
    operation_id = die(stack, item_id)
    living = ops(stack.env(), "list", "--json")
    assert (living.code, living.said["operations"][0]["next"]) == (0, "running")
    assert resolve(stack, operation_id).said["resolved"] == "early"

    let_age(stack, operation_id, LEASE_S + 1)
    died = ops(stack.env(), "list", "--json")
    assert (died.code, died.said["operations"][0]["next"]) == (1, "person")
    early = resolve(stack, operation_id)
    assert (early.code, early.said["resolved"], early.err) == (1, "early", "")
    assert 0 < early.said["resolvable_in_ms"] < 1000 * SETTLE_S
    assert open_ids(stack) == [operation_id]

    let_age(stack, operation_id, SETTLE_S)
    settled = resolve(stack, operation_id[:8])
    assert (settled.code, settled.said["resolved"]) == (0, "settled")
    line = json.loads(settled.err)
    assert (line["event"], line["outcome"], line["settled"]) == ("resolved", "committed", True)
    assert (line["operation_id"], line["reason"]) == (operation_id, "Seen in the outbox")
    assert line["operator"]

    again = resolve(stack, operation_id, "--not-executed")
    assert (again.code, again.said["resolved"], again.said["state"]) == (1, "changed", "committed")
    told = await retry(stack, item_id)
    assert (told["outcome"], told["this_call"], told["result"]) == ("succeeded", "replayed", None)
    assert told["error"]["code"] == "resolved_by_operator"
    assert (stack.items.effects().notices, open_ids(stack)) == (1, [])


async def test_a_retry_of_what_a_person_says_did_not_happen_is_told_to_use_a_new_key(
    stack: Stack,
) -> None:
    item_id = make_item(stack)
    operation_id = die(stack, item_id)
    let_age(stack, operation_id, LEASE_S + SETTLE_S)

    settled = resolve(stack, operation_id, "--not-executed")

    told = await retry(stack, item_id)
    assert settled.code == 0
    assert (told["outcome"], told["side_effect"]) == ("rejected", "none")
    assert (told["retry"]["advice"], told["error"]["code"]) == ("new_key", "resolved_by_operator")


def test_a_success_after_a_person_denied_it_is_kept_and_cries(stack: Stack) -> None:
    with sent_notice(stack, make_item(stack)) as (_, calling, answers):
        (operation_id,) = open_ids(stack)
        let_age(stack, operation_id, LEASE_S + SETTLE_S)
        denied = resolve(stack, operation_id, "--not-executed")
        answers.set()
        late = calling.result(5)

    assert denied.code == 0
    assert late is not None
    assert (late["outcome"], late["result"]) == ("succeeded", {"accepted": True})
    kept = ops(stack.env(), "show", operation_id, "--json")
    record = kept.said["record"]
    assert (kept.code, record["state"], record["conflicts"]) == (1, "committed", 1)


def test_a_word_that_a_success_overtakes_settles_nothing_and_says_what_it_is_now(
    stack: Stack,
) -> None:
    at_the_door = threading.Event()
    with sent_notice(stack, make_item(stack)) as (_, calling, answers), ThreadPoolExecutor() as one:
        (operation_id,) = open_ids(stack)
        let_age(stack, operation_id, LEASE_S + SETTLE_S)
        stack.store_faults.plan(Held("before", at_the_door), on=nth(1, naming("EVAL")))
        saying = one.submit(resolve, stack, operation_id, "--not-executed")
        assert stack.store_faults.wait_fired(timeout_s=10)
        answers.set()
        late = calling.result(5)
        at_the_door.set()
        word = saying.result(10)

    assert late is not None
    assert (late["outcome"], late["result"]) == ("succeeded", {"accepted": True})
    assert (word.code, word.said["resolved"], word.said["state"]) == (1, "changed", "committed")
    assert (word.said["record"]["conflicts"], json.loads(word.err)["settled"]) == (0, False)


def test_of_two_people_who_disagree_one_settles_it(stack: Stack) -> None:
    operation_id = die(stack, make_item(stack))
    let_age(stack, operation_id, LEASE_S + SETTLE_S)

    with ThreadPoolExecutor() as two:
        words = ("--occurred", "--not-executed")
        saying = [two.submit(resolve, stack, operation_id, word) for word in words]
        said = [each.result(30) for each in saying]

    assert sorted(each.said["resolved"] for each in said) == ["changed", "settled"]
    assert len({each.said["state"] for each in said}) == 1


@pytest.mark.parametrize(
    ("lost", "resolved", "settled"), [(1, "settled", True), (2, "unknown", None)]
)
def test_a_word_whose_reply_is_lost_is_never_said_to_be_refused(
    stack: Stack, lost: int, resolved: str, settled: bool | None
) -> None:
    operation_id = die(stack, make_item(stack))
    let_age(stack, operation_id, LEASE_S + SETTLE_S)
    stack.store_faults.plan(AnswerLost(), on=naming("EVAL"), count=lost)

    ran = resolve(stack, operation_id)

    assert (ran.said["resolved"], json.loads(ran.err)["settled"]) == (resolved, settled)
    assert ran.code == (0 if settled else 1)
    assert open_ids(stack) == []


def test_a_word_is_refused_without_a_reason_in_a_preview_and_in_another_environment(
    stack: Stack,
) -> None:
    operation_id = die(stack, make_item(stack))
    let_age(stack, operation_id, LEASE_S + SETTLE_S)
    preview = stack.env(VERCEL_ENV="preview", KV_REST_API_TOKEN="", BACKEND_WRITE_TOKEN="")
    word = ("resolve", operation_id, "--occurred", "--json", "--reason")

    blank = ops(stack.env(), *word, "  ")
    in_preview = ops(preview, *word, "Seen")
    elsewhere = ops(stack.env(VERCEL_ENV="development"), *word, "Seen")

    assert [each.code for each in (blank, in_preview, elsewhere)] == [2, 2, 2]
    assert in_preview.said["error"]["code"] == "preview"
    assert elsewhere.said["error"]["code"] == "other_environment"
    assert open_ids(stack) == [operation_id]


def test_a_word_needs_the_token_that_writes_and_a_list_does_not(stack: Stack) -> None:
    operation_id = die(stack, make_item(stack))
    let_age(stack, operation_id, LEASE_S + SETTLE_S)
    env = stack.env(KV_REST_API_TOKEN="", BACKEND_WRITE_TOKEN="", BACKEND_READ_TOKEN=READ_TOKEN)

    listed = ops(env, "list", "--json")
    refused = ops(env, "resolve", operation_id, "--occurred", "--reason", "Seen", "--json")

    assert (listed.code, listed.said["total"]) == (1, 1)
    assert (refused.code, refused.said["error"]["code"]) == (2, "misconfigured")
