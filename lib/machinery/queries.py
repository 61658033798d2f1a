"""A query, from its arguments to its answer as plain JSON.

Source: DESIGN §6.
"""

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from lib.contract import (
    BackendError,
    BackendSilentError,
    Call,
    NotExecutedError,
    PageArguments,
    Query,
)
from lib.machinery.caller import Caller
from lib.machinery.inputs import InputError, query_arguments
from lib.machinery.paging import MAX_BYTES, Cursors, RowTooLargeError, cut
from lib.machinery.runner.adapter import heard, said
from lib.machinery.runner.evidence import declared_fields

LOG = logging.getLogger("settle.calls")

# json.dumps builds an encoder for each call that asks for other than its defaults.
COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class QueryError(Exception):
    """A query has no answer; the text informs a model."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as a JSON value, and as the text of it."""

    value: dict[str, Any]
    text: str


async def answer(caller: Caller, query: Query[Any, Any], sent: Mapping[str, Any]) -> Answered:
    """Answer a query with its declared result fields.

    Args:   sent: arguments as json.loads left them.
    Raises: InputError: the arguments break a rule.
            QueryError: the backend refused or was silent; nothing was changed.
    """
    arguments = query_arguments(query, sent)
    try:
        if isinstance(arguments, PageArguments):
            found = await _page(caller, query, arguments)
        else:
            found = await _performed(caller, query, arguments)
        text = COMPACT(found)
        size = len(text.encode())
    except BackendError as fault:
        raise QueryError(_sentence(fault)) from None
    except ValueError as fault:  # a result that JSON or Unicode cannot write
        raise _failed(query, fault) from None
    if size > MAX_BYTES:
        raise QueryError("The answer is larger than 256 KiB. Ask for less.")
    return Answered(found, text)


async def _page(caller: Caller, query: Query[Any, Any], arguments: PageArguments) -> dict[str, Any]:
    settings = caller.deployment.settings
    cursors = Cursors(
        secret=settings.state_key or settings.backend_read_token or "",
        tool=query.name,
        principal=caller.grant.principal,
        arguments=arguments,
    )
    start = cursors.start()
    asked = arguments.model_copy(update={"cursor": start.cursor, "limit": start.limit})
    page = await _performed(caller, query, asked)
    try:
        after = cut(page, start, arguments.limit)
    except RowTooLargeError:
        raise QueryError("One row alone is larger than 256 KiB.") from None
    page["next_cursor"] = None if after is None else cursors.mint(after)
    return page


async def _performed(
    caller: Caller, query: Query[Any, Any], arguments: BaseModel
) -> dict[str, Any]:
    timeout_s = min(caller.deployment.settings.backend_timeout_s, caller.deadline.remaining_s())
    try:
        call = Call(principal=caller.grant.principal, timeout_s=timeout_s)
        result = await heard(query.perform, arguments, call, timeout_s=timeout_s)
        return declared_fields(query.result, result)
    except (BackendError, InputError, QueryError):
        raise
    except TimeoutError:
        raise BackendSilentError("timeout") from None
    except Exception as fault:  # noqa: BLE001  a fault of a tool informs, and ends no server
        raise _failed(query, fault) from None


def _failed(query: Query[Any, Any], fault: Exception) -> QueryError:
    LOG.warning("query_fault", extra={"tool": query.name, "fault": type(fault).__name__})
    return QueryError("This server failed to answer. Nothing was changed.")


def _sentence(error: BackendError) -> str:
    fault, after_ms = said(error)
    match error:
        case BackendSilentError() if fault.code == "timeout":
            return "The backend did not answer in time. Nothing was changed; try again."
        case BackendSilentError():
            return (
                f"The backend gave no usable answer ({fault.code}). Nothing was changed; try again."
            )
        case NotExecutedError():
            wait = f" in {math.ceil(after_ms / 1000)} s" if after_ms else ""
            return f"The backend cannot answer now ({fault.code}). Try again{wait}."
        case _:
            return f"Refused by the backend ({fault.code}). {fault.message}".rstrip()
