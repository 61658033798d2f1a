"""The sample items service: what a system of record with keys and references looks like.

Its wire is DESIGN §4's last table; its calls show the classes keyed, lookup and none of PROTOCOL
§5. Labels are the fourth class, unique, which no tool of the template uses. Keys last 24 hours, a
refusal is not remembered under its key, a request still running under its key is `key_in_use`.
"""

import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from lib.dev import items_reads as reads
from lib.dev import items_wire as wire
from lib.dev import items_writes as writes
from lib.dev.faulty import Faults, faulty
from lib.dev.items_bodies import ItemChange, Label, NewItem, Notice, parse
from lib.dev.items_db import Effects, RefusedError, count_effects
from lib.dev.items_work import Work, Written

type Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The two credentials: one reads, one also writes."""

    read: str
    write: str


def create_items(
    db: Path,
    *,
    read_token: str,
    write_token: str,
    faults: Faults | None = None,
    on_written: Callable[[Written], None] | None = None,
) -> "Items":
    """Build the service on a database file, which is made if it is not there.

    Args:    on_written: called on a worker thread after a commit and before its answer; never for
             a replay. What it does to the process is done between the two.
    """
    if not read_token or not write_token or read_token == write_token:
        raise ValueError("the read and the write token must be two different, non-empty strings")
    return Items(
        db,
        tokens=Tokens(read=read_token, write=write_token),
        faults=faults or Faults(),
        on_written=on_written or (lambda _: None),
    )


def _wall_clock() -> float:
    return datetime.now(UTC).timestamp()


class Items:
    """The service as an ASGI app; `faults` plans what goes wrong and tells what was seen."""

    def __init__(
        self,
        db: Path,
        *,
        tokens: Tokens,
        faults: Faults,
        on_written: Callable[[Written], None],
        clock: Callable[[], float] = _wall_clock,
    ) -> None:
        self.faults = faults
        self._path = db
        self._tokens = tokens
        self._work = Work(db, faults=faults, on_written=on_written, clock=clock)
        self._routes = self._build_routes()
        self._wrapped = faulty(self._guarded, faults, max_body=wire.MAX_BODY)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._wrapped(scope, receive, send)

    def effects(self) -> Effects:
        """Count what the service did in its life."""
        return count_effects(self._path)

    def _build_routes(self) -> Starlette:
        app = Starlette(
            routes=[
                _route("/items", get=self._list, post=self._create),
                _route("/items/{item_id}", get=self._get, patch=self._change, delete=self._delete),
                _route("/operations/{reference:path}", get=self._operation),
                _route("/notices", get=self._notices, post=self._notice),
                _route("/labels", post=self._label),
                _route("/labels/{reference:path}", get=self._get_label),
            ],
            exception_handlers={
                HTTPException: wire.refuse_route,
                RefusedError: wire.refuse,
                sqlite3.Error: wire.refuse_unavailable,
            },
        )
        app.router.redirect_slashes = False
        return app

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            try:
                wire.check_bearer(request, read=self._tokens.read, write=self._tokens.write)
            except RefusedError as no:
                await wire.refuse(request, no)(scope, receive, send)
                return
        await self._routes(scope, receive, send)

    async def _list(self, request: Request) -> Response:
        limit, after = wire.limit(request), wire.position(request)
        text = request.query_params.get("text", "")
        read = partial(reads.list_items, after=after, limit=limit, text=text)
        items, last = await self._work.read(read)
        cursor = None if last is None else wire.cursor(last)
        return wire.answer(200, {"items": items, "next_cursor": cursor})

    async def _get(self, request: Request) -> Response:
        find = partial(reads.find_item, item_id=wire.item_id(request))
        return wire.answer(200, await self._work.read(find))

    async def _operation(self, request: Request) -> Response:
        find = partial(reads.find_operation, reference=request.path_params["reference"])
        return wire.answer(200, await self._work.read(find))

    async def _get_label(self, request: Request) -> Response:
        find = partial(reads.find_label, reference=request.path_params["reference"])
        return wire.answer(200, await self._work.read(find))

    async def _notices(self, _: Request) -> Response:
        return wire.answer(200, await self._work.read(reads.newest_notices))

    async def _create(self, request: Request) -> Response:
        key = wire.header(request, "Idempotency-Key")
        new = await parse(NewItem, request)
        create = partial(writes.create_item, name=new.name, quantity=new.quantity)
        asked = new.model_dump()
        return wire.written(await self._work.write_once(request, create, key=key, asked=asked))

    async def _delete(self, request: Request) -> Response:
        key, item_id = wire.header(request, "Idempotency-Key"), wire.item_id(request)
        delete = partial(writes.delete_item, item_id=item_id)
        return wire.written(await self._work.write_once(request, delete, key=key, asked={}))

    async def _change(self, request: Request) -> Response:
        reference, item_id = wire.header(request, "X-Reference"), wire.item_id(request)
        changes = (await parse(ItemChange, request)).model_dump(exclude_unset=True)
        if not changes:
            raise RefusedError("invalid", "body: at least one field to change")
        change = partial(writes.change_item, item_id=item_id, changes=changes, reference=reference)
        return wire.written(await self._work.write(request, change, under=reference))

    async def _notice(self, request: Request) -> Response:
        notice = await parse(Notice, request)
        send = partial(writes.send_notice, item_id=notice.item_id, message=notice.message)
        return wire.written(await self._work.write(request, send, under=None))

    async def _label(self, request: Request) -> Response:
        reference = wire.header(request, "X-Reference")
        label = await parse(Label, request)
        create = partial(
            writes.create_label, item_id=label.item_id, text=label.text, reference=reference
        )
        return wire.written(await self._work.write(request, create, under=reference))


def _route(path: str, **by_method: Endpoint) -> Route:
    async def endpoint(request: Request) -> Response:
        await wire.check_size(request)
        return await by_method[request.method.lower().replace("head", "get")](request)

    return Route(path, endpoint, methods=[name.upper() for name in by_method])
