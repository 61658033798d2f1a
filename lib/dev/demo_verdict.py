"""What the demo saw, and whether it is the story that it promises. Pure."""

import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

type Json = dict[str, Any]

_FOUND_OUT = ("recovered", "replayed")


@dataclass(frozen=True, slots=True)
class Broken:
    """What a client knows when the connection breaks: an exception's name."""

    fault: str


type Answer = Json | Broken


@dataclass(slots=True, kw_only=True)
class Half:
    """One half of the story: the killed call, the retries' answers, and what the backend has.

    status: the exit status of the process that was aimed at; None where it was not killed.
    """

    status: int | None = None
    killed: Answer = field(default_factory=dict[str, Any])
    answers: list[Answer] = field(default_factory=list["Answer"])
    items: list[Json] = field(default_factory=list[Json])


def differences(without: Half, settled: Half, operation: Answer) -> list[str]:
    """Name everything in which the two halves are not the story; nothing where they are.

    Args:    operation: what `get_operation` said at the end.
    """
    return [
        *_unlike_a_kill("Without Settle", without),
        *_unlike_two_items(without),
        *_unlike_a_kill("With Settle", settled),
        *_unlike_one_item(settled, operation),
    ]


def _unlike_a_kill(where: str, half: Half) -> Iterator[str]:
    if half.status != -signal.SIGKILL:
        yield f"{where}, the server's exit status is {half.status}, not {-signal.SIGKILL:d}."
    if not isinstance(half.killed, Broken):
        yield f"{where}, the killed call was answered: {half.killed}."


def _unlike_two_items(half: Half) -> Iterator[str]:
    if len(half.items) != 2:  # noqa: PLR2004 - the story
        yield f"Without Settle, the backend has {len(half.items)} items, not 2."


def _unlike_one_item(half: Half, operation: Answer) -> Iterator[str]:
    if len(half.items) != 1:
        yield f"With Settle, the backend has {len(half.items)} items, not 1."
    *before, last = half.answers or [Broken("no answer")]
    yield from (
        f"With Settle, a retry was answered {answer} on the way."
        for answer in before
        if not is_pending(answer)
    )
    if isinstance(last, Broken) or last.get("outcome") != "succeeded":
        yield f"With Settle, the last retry was answered {last}."
        return
    if last.get("this_call") not in _FOUND_OUT:
        yield f"With Settle, the retry says this_call {last.get('this_call')}."
    if [last.get("result")] != half.items:
        yield f"With Settle, the retry shows {last.get('result')}, the backend has {half.items}."
    if _told(operation) != ("succeeded", last.get("result")):
        yield f"get_operation says {operation}."


def is_pending(answer: Answer) -> bool:
    """Say whether an answer tells its caller to come back with the same key."""
    if isinstance(answer, Broken) or answer.get("outcome") == "succeeded":
        return False
    return answer.get("retry", {}).get("advice") == "same_key"


def _told(operation: Answer) -> tuple[object, object]:
    if isinstance(operation, Broken):
        return (None, None)
    return (operation.get("outcome"), operation.get("result"))
