"""One tool call, from its arguments to how it ended; what MCP makes of it is `server.py`'s.

Source: DESIGN §6 (answers), §7 (approval), PROTOCOL §2 (the fingerprint once, and first).
"""

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from pydantic import BaseModel

from lib.contract import (
    BackendError,
    BackendSilentError,
    Call,
    Command,
    NotExecutedError,
    OperationId,
    PageArguments,
    Principal,
    Query,
)
from lib.machinery.deployment import Deployment
from lib.machinery.inputs import (
    KEY,
    UNFIT,
    InputError,
    command_arguments,
    key_problems,
    query_arguments,
)
from lib.machinery.paging import MAX_BYTES, Pager, RowTooLargeError, cut
from lib.machinery.runner.deadline import Deadline
from lib.machinery.runner.evidence import Intent, declared_fields
from lib.machinery.runner.fingerprint import UnfitForJsonError, fingerprint
from lib.machinery.runner.perform import Bounds
from lib.machinery.runner.record import operation

LOG = logging.getLogger("settle.calls")

type Sent = Mapping[str, Any]  # arguments as json.loads left them

# json.dumps builds an encoder for each call that asks for other than its defaults.
COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class QueryError(Exception):
    """A query has no answer; the text informs a model."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as a JSON value, and as the text of it."""

    value: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Calls of one deployment's tools, on behalf of one principal."""

    deployment: Deployment
    principal: Principal
    deadline: Deadline

    async def query(self, query: Query[Any, Any], sent: Sent) -> Answered:
        """Answer a query with its declared result fields, as plain JSON.

        Raises: InputError: the arguments break a rule.
                QueryError: the backend refused or was silent; nothing was changed.
        """
        arguments = query_arguments(query, sent)
        try:
            if isinstance(arguments, PageArguments):
                found = await self._page(query, arguments)
            else:
                found = await self._performed(query, arguments)
            text = COMPACT(found)
            size = len(text.encode())
        except BackendError as fault:
            raise QueryError(_told(fault)) from None
        except ValueError as fault:  # a result that JSON or Unicode cannot write
            raise _failed(query, fault) from None
        if size > MAX_BYTES:
            raise QueryError("The answer is larger than 256 KiB. Ask for less.")
        return Answered(found, text)

    def intent(self, command: Command[Any, Any], sent: Sent) -> Intent:
        """Validate a command and name its operation.

        Raises: InputError: the arguments break a rule.
        """
        keyed = command_arguments(command, sent)
        try:
            digest = fingerprint(command.name, keyed.arguments)
        except UnfitForJsonError:
            raise InputError(UNFIT) from None
        environment = self.deployment.settings.vercel_env
        return Intent(
            command=command,
            arguments=keyed.arguments,
            principal=self.principal,
            operation=operation(environment, self.principal, keyed.idempotency_key),
            fingerprint=digest,
        )

    def operation_id(self, sent: Sent) -> OperationId | None:
        """Name the operation of a call whose other arguments may be wrong."""
        key = sent.get(KEY)
        if key_problems(key):
            return None
        return operation(self.deployment.settings.vercel_env, self.principal, str(key)).id

    def bounds(self) -> Bounds:
        """Bound one attempt of this call."""
        attempt = self.deployment.ambient.new_id()
        return Bounds(deadline=self.deadline, limits=self.deployment.limits(), attempt=attempt)

    async def _page(self, query: Query[Any, Any], arguments: PageArguments) -> dict[str, Any]:
        settings = self.deployment.settings
        pager = Pager(secret=settings.state_key or settings.backend_read_token or "")
        start = pager.start(query.name, self.principal, arguments)
        asked = arguments.model_copy(update={"cursor": start.cursor, "limit": start.limit})
        page = await self._performed(query, asked)
        try:
            after = cut(page, start, arguments.limit)
        except RowTooLargeError:
            raise QueryError("One row alone is larger than 256 KiB.") from None
        page["next_cursor"] = (
            None if after is None else pager.mint(after, query.name, self.principal, arguments)
        )
        return page

    async def _performed(self, query: Query[Any, Any], arguments: BaseModel) -> dict[str, Any]:
        timeout_s = min(self.deployment.settings.backend_timeout_s, self.deadline.remaining_s())
        try:
            with anyio.fail_after(timeout_s):
                call = Call(principal=self.principal, timeout_s=timeout_s)
                result = await query.perform(arguments, call)
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


def _told(fault: BackendError) -> str:
    match fault:
        case BackendSilentError(code="timeout"):
            return "The backend did not answer in time. Nothing was changed; try again."
        case BackendSilentError():
            return (
                f"The backend gave no usable answer ({fault.code}). Nothing was changed; try again."
            )
        case NotExecutedError(after_ms=after_ms):
            wait = f" in {math.ceil(after_ms / 1000)} s" if after_ms else ""
            return f"The backend cannot answer now ({fault.code}). Try again{wait}."
        case _:
            return f"Refused by the backend ({fault.code}). {fault.message}".rstrip()
