"""A person's word against a late success, another person, and a wire that loses replies."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from lib.dev.faults import AnswerLost, Held
from lib.dev.store_faults import naming, nth
from tests.harness.notices import LEASE_S, SETTLE_S, die, make_item, resolve, sent_notice
from tests.harness.operator import let_age, open_ids, ops
from tests.harness.stack import Stack


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

    both_looked = threading.Event()
    stack.store_faults.plan(Held("before", both_looked), on=naming("EVAL"), count=2)

    with ThreadPoolExecutor() as two:
        words = ("--occurred", "--not-executed")
        saying = [two.submit(resolve, stack, operation_id, word) for word in words]
        assert stack.store_faults.wait_fired(2, timeout_s=10)
        both_looked.set()
        said = [each.result(30) for each in saying]

    assert sorted(each.said["resolved"] for each in said) == ["changed", "settled"]
    assert len({each.said["state"] for each in said}) == 1


@pytest.mark.parametrize(("lost", "resolved", "code"), [(1, "settled", 0), (2, "unknown", 1)])
def test_a_word_whose_reply_is_lost_is_never_said_to_be_refused(
    stack: Stack, lost: int, resolved: str, code: int
) -> None:
    operation_id = die(stack, make_item(stack))
    let_age(stack, operation_id, LEASE_S + SETTLE_S)
    stack.store_faults.plan(AnswerLost(), on=naming("EVAL"), count=lost)

    ran = resolve(stack, operation_id)

    assert (ran.code, ran.said["resolved"], open_ids(stack)) == (code, resolved, [])
    assert json.loads(ran.err)["settled"] == {0: True, 1: None}[code]
