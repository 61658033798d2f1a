"""A query that has no answer says why, as far as that helps, and that nothing was changed."""

import asyncio
from typing import Any

import pytest

from lib.contract import BackendSilentError
from tests.harness.adapters import Does, query, raising
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp


async def never(*_: Any) -> Any:
    await asyncio.Event().wait()


LATE = "The backend did not answer in time. Nothing was changed; try again."
FAULTS: dict[str, tuple[Does, str]] = {
    "a call that does not end": (never, LATE),
    "a time-out of the adapter's": (raising(BackendSilentError("timeout")), LATE),
    "a lost connection": (
        raising(BackendSilentError("reset")),
        "The backend gave no usable answer (reset). Nothing was changed; try again.",
    ),
    "a fault of the adapter": (
        raising(LookupError("a-secret")),
        "This server failed to answer. Nothing was changed.",
    ),
}


@pytest.mark.parametrize("what", FAULTS)
async def test_a_query_without_an_answer_says_what_to_do_next(
    shared_stack: Stack, what: str
) -> None:
    does, text = FAULTS[what]
    app = in_process(shared_stack.env(BACKEND_TIMEOUT_S="0.2"), tools=[query(does)])
    async with client_of(app) as http:
        answer = await Mcp(http=http).call("get_thing")
    assert (answer["isError"], answer["content"][0]["text"]) == (True, text)
