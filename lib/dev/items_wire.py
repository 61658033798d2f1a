"""The items service's wire: credentials, headers, query strings, answers and refusals."""

import base64
import binascii
import hmac
import json
import re

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lib.dev.items_bodies import ITEM_ID
from lib.dev.items_db import RefusedError
from lib.dev.items_reads import Fields
from lib.dev.items_writes import Reply

MAX_BODY = 64 * 1024  # bytes; the largest valid body has 500 characters
MAX_LIMIT = 100
_STATUS = {
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "key_in_use": 409,
    "duplicate": 409,
    "key_reused": 422,
    "invalid": 422,
    "unavailable": 503,
}
_TOKEN = re.compile(r"[\x21-\x7e]{1,255}")  # keys and references: visible ASCII
_LIMIT = re.compile(r"[0-9]{1,3}")
_SEQ = re.compile(r"[0-9]{1,18}")  # fits SQLite's 64 bits


def answer(status: int, fields: Fields) -> Response:
    """Build a success that is not remembered."""
    return _json(status, json.dumps(fields, ensure_ascii=False))


def written(reply: Reply) -> Response:
    """Build the answer to a write, marked when it is a replay."""
    response = _json(reply.status, reply.text)
    if reply.is_replay:
        response.headers["Idempotency-Replayed"] = "true"
    return response


def refuse(_: Request, no: Exception) -> Response:
    """Map the service's own refusals."""
    if not isinstance(no, RefusedError):
        raise no
    response = _refusal(no.status or _STATUS[no.code], no.code, no.message)
    if no.code == "unauthorized":
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def refuse_route(_: Request, fault: Exception) -> Response:
    """Map the router's refusals: no such route, no such method."""
    if not isinstance(fault, HTTPException):
        raise fault
    code = "not_found" if fault.status_code == _STATUS["not_found"] else "invalid"
    response = _refusal(fault.status_code, code, fault.detail)
    response.headers.update(fault.headers or {})
    return response


def refuse_unavailable(_: Request, __: Exception) -> Response:
    """Map a database that cannot be used now; it does not say whether anything was stored."""
    return _refusal(_STATUS["unavailable"], "unavailable", "the database cannot be used now")


def _refusal(status: int, code: str, message: str) -> Response:
    error = {"error": {"code": code, "message": message}}
    return _json(status, json.dumps(error, ensure_ascii=False))


def _json(status: int, text: str) -> Response:
    return Response(text, status, media_type="application/json")


def header(request: Request, name: str) -> str:
    """Read a key or a reference.

    Raises:  RefusedError: `invalid` when it is absent, sent twice, or not 1 to 255 visible ASCII.
    """
    values = request.headers.getlist(name)
    if len(values) != 1 or not _TOKEN.fullmatch(values[0]):
        raise RefusedError("invalid", f"{name}: one value of 1 to 255 visible ASCII characters")
    return values[0]


def item_id(request: Request) -> str:
    """Read the item id of the path.

    Raises:  RefusedError: `invalid`.
    """
    found: str = request.path_params["item_id"]
    if not ITEM_ID.fullmatch(found):
        raise RefusedError("invalid", "item id: 1 to 64 of A-Z a-z 0-9 _ -")
    return found


def limit(request: Request) -> int:
    """Read how many rows are asked for, 20 when not said.

    Raises:  RefusedError: `invalid` outside 1 to 100.
    """
    asked = request.query_params.get("limit", "20")
    if not _LIMIT.fullmatch(asked) or not 1 <= int(asked) <= MAX_LIMIT:
        raise RefusedError("invalid", f"limit: an integer from 1 to {MAX_LIMIT}")
    return int(asked)


def position(request: Request) -> int:
    """Read the position a cursor stands for; without one, the start.

    Raises:  RefusedError: `invalid` for what `cursor` never made.
    """
    cursor = request.query_params.get("cursor")
    if cursor is None:
        return 0
    try:
        seq = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        seq = ""
    if not _SEQ.fullmatch(seq):
        raise RefusedError("invalid", "cursor: not one of this service")
    return int(seq)


def cursor(seq: int) -> str:
    """Make the opaque form of a position."""
    return base64.urlsafe_b64encode(str(seq).encode()).decode()


def check_bearer(request: Request, *, read: str, write: str) -> None:
    """Check the credential: the read token reaches GET only.

    Raises:  RefusedError: `unauthorized`, `forbidden`.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    bearer = token.encode("latin-1") if scheme.lower() == "bearer" else b""
    if hmac.compare_digest(bearer, write.encode()):
        return
    if not hmac.compare_digest(bearer, read.encode()):
        raise RefusedError("unauthorized", "a bearer token is needed")
    if request.method != "GET":
        raise RefusedError("forbidden", "this token can only read")


async def check_size(request: Request) -> None:
    """Refuse a body above MAX_BODY.

    Raises:  RefusedError: `invalid`, with status 413.
    """
    if len(await request.body()) > MAX_BODY:
        raise RefusedError("invalid", f"body: at most {MAX_BODY} bytes", status=413)
