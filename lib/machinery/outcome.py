"""How a command ends, one frozen class per case; what each says to a model is in `envelope.py`.

Source: DESIGN §6 (the envelope), PROTOCOL §1 (three-valued) and §8.
"""

from dataclasses import dataclass
from typing import Literal

from lib.contract import ThisCall


@dataclass(frozen=True, slots=True)
class Fault:
    """An error code of the adapter's or of the machinery, and its fixed sentence."""

    code: str
    message: str = ""


RATE_LIMITED = Fault("rate_limited", "Too many calls within a minute.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The effect exists.

    answer: the result as canonical JSON text; None where it could not be read or kept.
    is_fresh: no earlier attempt can have made the effect, so this call did.
    """

    answer: str | None
    this_call: ThisCall
    recorded: bool = True
    is_fresh: bool = False
    fault: Fault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The backend refused for good; nothing happened."""

    fault: Fault
    this_call: ThisCall
    recorded: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NotExecuted:
    """Nothing was done by this call; nor by any other, where `side_effect` is none."""

    fault: Fault
    after_ms: int
    side_effect: Literal["none", "unknown"] = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class InProgress:
    """Another attempt holds a live lease."""

    after_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InDoubt:
    """The effect may exist.

    after_ms: when a retry with the same key can find out; None where only a person can.
    """

    fault: Fault
    after_ms: int | None
    was_sent: bool = False


@dataclass(frozen=True, slots=True)
class KeyReused:
    """The key belongs to another tool or other arguments."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """The arguments break the tool's schema; `problems` names fields and rules, never values."""

    problems: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """The gate, or a person asked for approval, said no."""

    reason: str
    side_effect: Literal["none", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUnavailable:
    """The store was silent at the claim, or holds what this code cannot read."""

    after_ms: int


type Outcome = (
    Succeeded
    | Rejected
    | NotExecuted
    | InProgress
    | InDoubt
    | KeyReused
    | Invalid
    | Forbidden
    | StoreUnavailable
)
