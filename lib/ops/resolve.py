"""A person's word about an operation that nobody else can settle.

It counts only past the horizon, when no attempt can be running or landing, and only about the
record that was looked at: the move is a compare and set. One audit line per move, whoever won.
Source: PROTOCOL §4 (operator resolves), §9.
"""

import getpass
import json
import math
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from rich.console import Group
from rich.text import Text

from lib.machinery.envelope import RESOLVED
from lib.machinery.gate.audit import LOG, actor_name
from lib.machinery.outcome import Fault
from lib.machinery.runner.events import Resolve
from lib.machinery.runner.holding import Holding
from lib.machinery.runner.record import Record, Seen
from lib.machinery.runner.store import Store
from lib.machinery.runner.transitions import committed, rejected
from lib.ops.answer import Answer, CannotError
from lib.ops.looks import Look, find, is_indexed, resolvable_in_ms
from lib.ops.operations import shown
from lib.ops.reach import CLOCK

MAX_REASON_CHARS = 500
OCCURRED = Fault(RESOLVED, "A person found that it happened; its result was not kept.")
NOT_EXECUTED = Fault(RESOLVED, "A person found that it did not happen.")

Became = Literal["settled", "early", "changed", "unknown"]
SAID: dict[Became, str] = {
    "settled": "Settled, as you said.",
    "early": "Not settled: it may still land. Possible in {wait_s} s.",
    "changed": "Not settled: it is not, or no longer, what your word would be about.",
    "unknown": "The store did not answer: it may be settled. Look again, and repeat if it is not.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What the person says, and why."""

    occurred: bool
    reason: str

    @property
    def outcome(self) -> str:
        """Name the state it asks for."""
        return "committed" if self.occurred else "rejected"

    @property
    def fault(self) -> Fault:
        """Say to a caller whose word it was."""
        return OCCURRED if self.occurred else NOT_EXECUTED


async def resolve(store: Store, text: str, word: Word) -> Answer:
    """Settle an operation by a person's word.

    Raises: CannotError: no such operation, or no reason. StoreSilentError: no reply; nothing done.
    """
    if not word.reason.strip() or len(word.reason) > MAX_REASON_CHARS:
        raise CannotError("usage", f"--reason: 1 to {MAX_REASON_CHARS} characters, not blank.")
    operation_id = await find(store, text)
    look = Look(operation_id, await store.read(operation_id))
    heard_at = CLOCK.now()  # after the reply: an age may be told too young, never too old
    if not isinstance(look.held, Seen) or not look.held.record.is_open:
        return _answer("changed", look, store.environment)
    if not await is_indexed(store, operation_id):
        again = Look(operation_id, await store.read(operation_id))
        if not isinstance(again.held, Seen) or not again.held.record.is_open:
            return _answer("changed", again, store.environment)  # somebody was faster
        said = f"It is not open in {store.environment}: set VERCEL_ENV as its deployment has it."
        raise CannotError("other_environment", said)
    if resolvable_in_ms(look.held):
        return _answer("early", look, store.environment)
    holding = Holding(
        store=store,
        clock=CLOCK,
        operation_id=operation_id,
        held=look.held,
        heard_at=heard_at,
        lease=(heard_at, math.inf),
    )
    became: Became = "unknown"
    try:
        became = await _move(holding, look.held, word)
    finally:  # also where the person interrupts it
        LOG.info(_line(holding, word, seen=look.held, became=became))
    return _answer(became, Look(operation_id, holding.held), store.environment)


async def _move(holding: Holding, seen: Seen, word: Word) -> Became:
    event = Resolve(seen=seen.record, occurred=word.occurred, fault=word.fault)
    await holding.obey(event)
    if not isinstance(holding.held, Seen):
        return "changed"
    became = replace(holding.held.record, elapsed_ms=seen.record.elapsed_ms)
    if became == _asked(seen.record, word):
        return "settled"
    return "unknown" if holding.held.text == seen.text else "changed"


def _asked(record: Record, word: Word) -> Record:
    if word.occurred:
        return committed(record, answer=None, digest=None, fault=word.fault)
    return rejected(record, fault=word.fault)


def _line(holding: Holding, word: Word, *, seen: Seen, became: Became) -> str:
    return json.dumps(
        {
            "event": "resolved",
            "ts": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "operator": _operator(),
            "environment": holding.store.environment,
            "operation_id": holding.operation_id,
            "tool": seen.record.tool,
            "actor": actor_name(seen.record.principal),
            "outcome": word.outcome,
            "settled": {"settled": True, "unknown": None}.get(became, False),
            "reason": word.reason,
        },
        separators=(",", ":"),
    )


def _operator() -> str:
    try:
        import pwd  # not on Windows; the environment's names can be anybody's

        return pwd.getpwuid(os.getuid()).pw_name
    except ImportError:
        return getpass.getuser()
    except KeyError:
        return f"uid {os.getuid()}"


def _answer(became: Became, look: Look, environment: str) -> Answer:
    wait_ms = resolvable_in_ms(look.held) if isinstance(look.held, Seen) else None
    said = SAID[became].format(wait_s=-(-(wait_ms or 0) // 1000))
    seen = shown(look, environment)
    return Answer(
        data={"resolved": became, "message": said, **seen.data},
        shown=Group(Text(said), "", seen.shown),
        needs_attention=became != "settled",
    )
