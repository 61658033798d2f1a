"""A refusal after a send that stayed without an answer: which operation is it about?

Source: PROTOCOL §5 (sticky), §6 (what a refusal proves).
"""

from datetime import timedelta
from typing import Any

import pytest

from lib.contract import BackendSilentError, Keyed, RefusedError
from tests.harness.adapters import Does, command
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

DAY = timedelta(days=1)


def first_silent_then_refusing(*, by_key: bool) -> Does:
    """Give no answer, and to the same request again a refusal."""
    refused = RefusedError("closed")
    refused.by_key = by_key
    faults = iter([BackendSilentError("reset"), refused])

    async def does(*_: Any) -> Any:
        raise next(faults)

    return does


@pytest.mark.parametrize(
    ("by_key", "sticky", "outcome", "side_effect"),
    [
        (True, True, "rejected", "none"),
        (True, False, "in_doubt", "unknown"),
        (False, True, "in_doubt", "unknown"),
    ],
)
async def test_only_a_refusal_that_our_key_stored_is_about_the_lost_send_too(
    shared_stack: Stack, outcome: str, side_effect: str, *, by_key: bool, sticky: bool
) -> None:
    backend = Keyed(window=DAY, sticky=sticky)
    sending = command(first_silent_then_refusing(by_key=by_key), backend=backend)
    async with client_of(in_process(shared_stack.env(), tools=[sending])) as http:
        said = await Mcp(http=http).settle("send_thing", idempotency_key="k")
    assert (said["outcome"], said["side_effect"]) == (outcome, side_effect)
