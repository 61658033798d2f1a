"""The page both sides read: what a tool declares, what a backend may prove, how a command ends.

`lib/tools` and `lib/backend` (yours) and `lib/machinery` (not yours) meet here and nowhere else.
Source: PROTOCOL §1 (three-valued outcomes) and §5 (backend classes); MCP 2026-07-28, server/tools.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal, NewType

from pydantic import BaseModel, Field

Scope = NewType("Scope", str)
OperationId = NewType("OperationId", str)
MAX_ROWS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who answers for a call: the issuer of the credential and the subject it names there."""

    issuer: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """The backend deduplicates our key for `window`, and then forgets it.

    sticky: it stores its refusals under the key too.
    lookup: how long an effect may stay invisible, where it can also be asked by reference.
    """

    window: timedelta
    sticky: bool
    lookup: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Unique:
    """The backend refuses a second object with the same reference: a duplicate says it occurred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """The backend can be asked by reference; `settle_time` covers what is still in flight."""

    settle_time: timedelta


@dataclass(frozen=True, slots=True)
class Unaskable:
    """Class none: the backend keeps no key and cannot be asked. At most once; a human decides."""


BackendClass = Keyed | Unique | Lookup | Unaskable


class BackendError(Exception):
    """What a backend's answer proves when it is not a plain success."""

    def __init__(self, code: str, message: str = "", *, after_ms: int | None = None) -> None:
        """Take a code and a sentence from the adapter's own list, never the backend's free text."""
        super().__init__(code)
        self.code, self.message, self.after_ms = code, message, after_ms


class RefusedError(BackendError):
    """Known: no effect, and repeating the same request would be refused again."""

    by_key: bool = False  # True where the backend shows that it answers from what our key stored


class NotExecutedError(BackendError):
    """Known: no effect; the same request may succeed later (never sent, or turned away)."""


class BackendSilentError(BackendError):
    """Unknown: the request may have had its effect, or may still have it."""


class OccurredError(BackendError):
    """Known: the effect exists, though the answer is a duplicate's or cannot be read."""

    def __init__(self, code: str, *, result: BaseModel | None = None) -> None:
        """Keep what the backend shows of the effect; None where nothing can be read."""
        super().__init__(code)
        self.result = result


@dataclass(frozen=True, slots=True, kw_only=True)
class Found[A: BaseModel]:
    """One effect the backend stored under a reference, with the arguments that made it."""

    arguments: A
    result: BaseModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What the machinery tells a tool: who asks, how long it may take, and a command's reference.

    reference: 64 hex digits, the same for every attempt at one operation; "" for a query.
    """

    principal: Principal
    timeout_s: float
    reference: str = ""


class PageArguments(BaseModel):
    """The arguments of a query that lists."""

    limit: Annotated[int, Field(ge=1, le=MAX_ROWS, description="Rows at most")] = 20
    cursor: Annotated[
        str | None, Field(max_length=16_384, description="`next_cursor` of the page before")
    ] = None


class Page[Row: BaseModel](BaseModel):
    """One page of a listing; `next_cursor` is null on the last."""

    items: list[Row]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query[A: BaseModel, R: BaseModel]:
    """A tool that changes nothing: `get_`, `list_`, `search_`, …; lenient about its arguments."""

    name: str
    toolset: str
    description: str
    arguments: type[A]
    result: type[R]
    perform: Callable[[A, Call], Awaitable[R]]
    open_world: bool = False
    scope: Scope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command[A: BaseModel, R: BaseModel]:
    """A tool that changes the world under an idempotency key, which the machinery adds.

    backend: what the system behind it guarantees; there is no default.
    target: the system that changes, in words for the person who approves.
    ask: what the backend stored under a reference; needed where the class can be asked.
    """

    name: str
    toolset: str
    description: str
    arguments: type[A]
    result: type[R]
    perform: Callable[[A, Call], Awaitable[R]]
    backend: BackendClass
    destructive: bool
    target: str
    ask: Callable[[Call], Awaitable[list[Found[A]]]] | None = None
    approval: bool = False
    open_world: bool = False
    scope: Scope | None = None


# Any: a catalogue holds tools of every argument model, and functions are contravariant in theirs.
type Tool = Query[Any, Any] | Command[Any, Any]
type ThisCall = Literal["executed", "replayed", "recovered", "not_executed"]
