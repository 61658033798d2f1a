"""What a backend's HTTP answer proves: the pure half of the wire, shared by every adapter.

Only a listed status refuses for good, only a 2xx says that it happened, and what a backend writes
for people never passes through: the caller reads the adapter's sentence for a code, or one of ours.
Source: PROTOCOL §6; RFC 9110 §10.2.3 (Retry-After), §15 (status codes).
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel

from lib.contract import (
    BackendError,
    BackendSilentError,
    NotExecutedError,
    OccurredError,
    RefusedError,
)

type Sign = tuple[int, str]  # a status and the error code in its body; "" where there is none

# 409 only with a code: without one it may be a duplicate's, which says that it happened.
REFUSED = frozenset({400, 401, 403, 404, 405, 409, 410, 412, 413, 415, 422})
TURNED_AWAY: Mapping[int, str] = {425: "too_early", 429: "rate_limited"}
KEY_IN_USE_MS = 5_000
MAX_AFTER_S = 3_600.0
SECONDS = re.compile(r"-?[0-9]{1,300}(\.[0-9]{1,300})?")
ABSENT = "not_found"
SENTENCES: Mapping[str, str] = {
    "not_configured": "This deployment holds no usable credential for this.",
    "not_sent": "The request could not be written down, and was not sent.",
    "unreachable": "The backend could not be reached.",
    "timeout": "The backend did not answer in time.",
    "connection_lost": "The connection to the backend was lost.",
    "unclear": "The backend did not say what became of the request.",
    "answer_unreadable": "The backend's answer could not be read.",
    "refused": "The backend refused the request.",
    "too_early": "The backend turned the request away for now.",
    "rate_limited": "The backend turned the request away for now.",
    "key_in_use": "The backend is still working on this operation.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer as it came.

    could_act: the request was one that changes something, so a 2xx proves an effect.
    body:      None where it broke off, stalled, or was longer than the wire reads.
    at:        the instant a date in Retry-After counts from.
    """

    could_act: bool
    status: int
    body: bytes | None
    at: datetime
    retry_after: str | None = None
    is_replayed: bool = False


def error_code(body: Mapping[str, Any]) -> object:
    """Find the code in `{"error": {"code", "message"}}`."""
    return body["error"]["code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meanings:
    """An adapter's own list: what its backend's error codes mean.

    sentences:     a fixed sentence per code; a code that is not in it reads `refused`.
    duplicate:     it happened before, under the same reference.
    key_in_use:    the same key is still being worked on.
    not_processed: 5xx answers by which this backend promises that it did nothing.
    replayed:      the header by which it shows that it answers from what our key stored.
    code_of:       finds the code in an error's JSON object; whatever it raises means no code.
    """

    sentences: Mapping[str, str]
    duplicate: frozenset[Sign] = frozenset({(409, "duplicate")})
    key_in_use: frozenset[Sign] = frozenset({(409, "key_in_use")})
    not_processed: frozenset[Sign] = frozenset()
    replayed: str = "Idempotency-Replayed"
    code_of: Callable[[Mapping[str, Any]], object] = error_code

    def sentence(self, code: str) -> str:
        """Tell the fixed sentence of a code that is the adapter's or ours."""
        return self.sentences.get(code) or SENTENCES[code]


def prove[R: BaseModel](answer: Answer, model: type[R], meanings: Meanings) -> R:
    """Read a success; a 204 reads as `{}`, which fits a model without required fields.

    Raises:  OccurredError: a duplicate; or a success that cannot be read as `model`.
             RefusedError, NotExecutedError, BackendSilentError: what else the status proves.
    """
    if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        raise _fault(answer, meanings)
    text = b"{}" if answer.status == HTTPStatus.NO_CONTENT else answer.body
    try:
        return model.model_validate_json(text or b"")
    except Exception as fault:
        # Also a validator's own fault: whatever reading stumbles over, the 2xx was said.
        if answer.could_act:
            raise OccurredError("answer_unreadable") from fault
        raise ours(BackendSilentError, "answer_unreadable") from fault


def ours[E: BackendError](kind: type[E], code: str) -> E:
    """Build an error with a code and a sentence of the wire's own."""
    return kind(code, SENTENCES[code])


def _fault(answer: Answer, meanings: Meanings) -> BackendError:
    code = _code(answer, meanings)
    sign = (answer.status, code)
    if sign in meanings.duplicate and answer.could_act:
        return OccurredError("duplicate")
    if sign in meanings.key_in_use:
        sentence = meanings.sentence("key_in_use")
        return BackendSilentError("key_in_use", sentence, after_ms=KEY_IN_USE_MS)
    # A look-up acts on absence, so no other status may say it.
    is_misplaced = code == ABSENT and answer.status != HTTPStatus.NOT_FOUND
    known = code if code in meanings.sentences and not is_misplaced else ""
    if sign in meanings.not_processed or answer.status in TURNED_AWAY:
        told = known or TURNED_AWAY.get(answer.status, "refused")
        return NotExecutedError(told, meanings.sentence(told), after_ms=_after_ms(answer))
    if answer.status in REFUSED and (code or answer.status != HTTPStatus.CONFLICT):
        refused = RefusedError(known or "refused", meanings.sentence(known or "refused"))
        refused.by_key = answer.is_replayed
        return refused
    return BackendSilentError(known or "unclear", meanings.sentence(known or "unclear"))


def _code(answer: Answer, meanings: Meanings) -> str:
    try:
        code = meanings.code_of(json.loads(answer.body or b""))
    except Exception:  # noqa: BLE001  any page may stand here; without a code the status speaks
        return ""
    return code if isinstance(code, str) else ""


def _after_ms(answer: Answer) -> int | None:
    text = (answer.retry_after or "").strip()
    if SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        until = instant(text)
        if until is None:
            return None
        seconds = (until - answer.at).total_seconds()
    return round(1000 * min(max(seconds, 0.0), MAX_AFTER_S))


def instant(text: str) -> datetime | None:
    """Read an HTTP date in any of its three forms; None where it is none."""
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
