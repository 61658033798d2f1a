"""A process that a platform froze, and thawed long after its lease: what it may still write.

Source: PROTOCOL §3 (the function's own clock decides nothing about others), §5 (the key window).
"""

import time

import pytest

from lib.dev.faults import AnswerLost
from lib.dev.faulty import call
from lib.machinery.runner.deadline import Clock, Deadline, Limits, Moment
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

NEW = {"name": "lamp", "quantity": 1, "idempotency_key": "k"}
DAY_S = 24 * 3600


def frozen_after_the_write(stack: Stack) -> Clock:
    """Give two clocks of which only the wall's saw the day that passed after the first effect."""
    return Clock(
        steady=time.monotonic,
        wall=lambda: time.monotonic() + (DAY_S if stack.items.effects().created else 0),
    )


async def test_a_thawed_attempt_without_evidence_writes_nothing(stack: Stack) -> None:
    stack.items.faults.plan(AnswerLost(), on=call("POST", "/items"), count=None)
    async with client_of(in_process(stack.env(), clock=frozen_after_the_write(stack))) as http:
        told = await Mcp(http=http).settle("create_item", **NEW)
        known = await Mcp(http=http).call("get_operation", idempotency_key="k")
    assert told["outcome"] == "in_doubt"
    assert known["structuredContent"]["outcome"] == "in_progress"
    assert len(stack.front.exchanges) == 2  # the claim, and the look of get_operation


async def test_a_thawed_attempt_still_tells_and_writes_a_success(stack: Stack) -> None:
    async with client_of(in_process(stack.env(), clock=frozen_after_the_write(stack))) as http:
        told = await Mcp(http=http).settle("create_item", **NEW)
        again = await Mcp(http=http).settle("create_item", **NEW)
    assert (told["outcome"], told["recorded"]) == ("succeeded", True)
    assert again == {**told, "this_call": "replayed"}


@pytest.mark.parametrize(("steady", "wall"), [(5.0, 5.0), (0.0, 5.0), (5.0, 0.0), (5.0, -60.0)])
def test_time_passed_is_bounded_from_both_sides(steady: float, wall: float) -> None:
    clock = Clock(steady=lambda: 100 + steady, wall=lambda: 200 + wall)
    start = Moment(100, 200)
    assert clock.since(start) == max(steady, wall)
    assert clock.at_least(start) == max(0.0, min(steady, wall))


def test_the_earlier_of_two_ends_counts_and_zero_is_a_number() -> None:
    clock = Clock(steady=lambda: 110.0, wall=lambda: 210.0)
    started = Moment(100.0, 200.0)
    limits = Limits(max_duration_s=30, backend_timeout_s=10, commit_budget_s=3, kill_slack_s=5)
    ends = {None: 20.0, 215.0: 5.0, 300.0: 20.0, 205.0: 0.0}
    for end, left in ends.items():
        deadline = Deadline(clock=clock, started=started, limits=limits, ends_wall_s=end)
        assert deadline.remaining_s() == left
