"""Whatever an adapter puts into an error, what is told and kept of it is text and whole numbers.

Source: PROTOCOL §1.2 (a retry learns no less), §6 (a wait is 0 to 3,600 s).
"""

from enum import Enum
from http import HTTPStatus
from typing import Any

import pytest

from lib.contract import (
    BackendError,
    BackendSilentError,
    NotExecutedError,
    OccurredError,
    RefusedError,
)
from tests.harness.adapters import command, query, raising
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

HOUR_MS = 3_600_000


class Code(str, Enum):  # noqa: UP042  as adapters of an older Python have it
    GONE = "gone"


class Unspeakable:
    def __str__(self) -> str:
        raise KeyError


class BareError(RefusedError):
    def __init__(self) -> None:
        """Leave out what a backend's error has."""


class BareOccurredError(OccurredError):
    def __init__(self) -> None:
        """Leave it out here too."""


class StumblingError(BareError):
    @property
    def code(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise KeyError("code")

    message = after_ms = by_key = code  # pyright: ignore[reportAssignmentType]


CODES: dict[str, tuple[Any, str]] = {
    "a code of the tool's": ("sold_out", "sold_out"),
    "a status": (404, "404"),
    "a status of the library's": (HTTPStatus.CONFLICT, "409"),
    "an enumeration": (Code.GONE, "gone"),
    "a lone surrogate": ("a\ud800b", "a?b"),
    "nothing": (None, "unnamed"),
    "what cannot be said": (Unspeakable(), "Unspeakable"),
    "a novel": ("x" * 100_000, "x" * 2_000),
}
WAITS: dict[Any, int | None] = {
    1_500: 1_500,
    0: 0,
    1_500.5: 1_501,
    -5_000: 0,
    10**400: HOUR_MS,
    float("inf"): HOUR_MS,
    float("nan"): None,
    "5": None,
    None: None,
}


@pytest.mark.parametrize("what", CODES)
@pytest.mark.parametrize("kind", [RefusedError, OccurredError, BackendSilentError])
async def test_a_code_is_told_as_text_and_told_again(
    shared_stack: Stack, kind: type[BackendError], what: str
) -> None:
    code, told = CODES[what]
    app = in_process(shared_stack.env(), tools=[command(raising(kind(code)))])
    async with client_of(app) as http:
        first, again = [
            await Mcp(http=http).settle("send_thing", idempotency_key="k") for _ in "12"
        ]
    assert (first["error"]["code"], again["outcome"]) == (told, first["outcome"])
    assert again["error"] == first["error"]


@pytest.mark.parametrize("message", [5, "a\ud800", None, Unspeakable()])
async def test_a_sentence_is_told_as_text(shared_stack: Stack, message: Any) -> None:
    fault = RefusedError("closed", message)
    app = in_process(shared_stack.env(), tools=[command(raising(fault)), query(raising(fault))])
    async with client_of(app) as http:
        mcp = Mcp(http=http)
        first, again = [await mcp.settle("send_thing", idempotency_key="k") for _ in "12"]
        answer = await mcp.call("get_thing")
    assert (first["outcome"], type(first["error"]["message"])) == ("rejected", str)
    assert again == first | {"this_call": "replayed"}
    assert answer["content"][0]["text"].startswith("Refused by the backend (closed).")


@pytest.mark.parametrize("fault", [BareError(), BareOccurredError(), StumblingError()])
async def test_an_error_that_skips_its_parent_still_proves_what_it_proves(
    shared_stack: Stack, fault: BackendError
) -> None:
    app = in_process(shared_stack.env(), tools=[command(raising(fault)), query(raising(fault))])
    async with client_of(app) as http:
        said = await Mcp(http=http).settle("send_thing", idempotency_key="k")
        answer = await Mcp(http=http).call("get_thing")
    known = "rejected" if isinstance(fault, RefusedError) else "succeeded"
    assert (said["outcome"], said["error"]["code"]) == (known, "unnamed")
    assert answer["isError"]


@pytest.mark.parametrize("after_ms", WAITS, ids=lambda value: repr(value)[:12])
async def test_a_wait_is_a_whole_number_within_an_hour(shared_stack: Stack, after_ms: Any) -> None:
    fault = NotExecutedError("busy", "Busy.", after_ms=after_ms)
    app = in_process(shared_stack.env(), tools=[command(raising(fault)), query(raising(fault))])
    async with client_of(app) as http:
        said = await Mcp(http=http).settle("send_thing", idempotency_key="k")
        answer = await Mcp(http=http).call("get_thing")
    told = WAITS[after_ms]
    assert said["outcome"] == "not_executed"
    assert said["retry"] == {"advice": "same_key", "after_ms": 1_000 if told is None else told}
    wait = f" in {(told + 999) // 1000} s" if told else ""
    text = f"The backend cannot answer now (busy). Try again{wait}."
    assert answer["content"][0]["text"] == text
