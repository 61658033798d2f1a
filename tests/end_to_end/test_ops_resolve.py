"""A person settles what nobody else can: real deaths, real commands, the store's own clock."""

import json

from tests.harness.notices import LEASE_S, SETTLE_S, die, make_item, resolve, retry
from tests.harness.operator import let_age, open_ids, ops
from tests.harness.stack import Stack


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
    env = stack.env(KV_REST_API_TOKEN="", BACKEND_WRITE_TOKEN="")

    listed = ops(env, "list", "--json")
    refused = ops(env, "resolve", operation_id, "--occurred", "--reason", "Seen", "--json")

    assert (listed.code, listed.said["total"]) == (1, 1)
    assert (refused.code, refused.said["error"]["code"]) == (2, "misconfigured")
