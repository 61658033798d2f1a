"""The issuer's public keys: fetched when one is needed, kept for a while, one fetch at a time.

A key is used for one algorithm only, its own. A silent issuer costs nobody access as long as the
keys seen last are younger than STALE.
Source: RFC 7517 (key sets); RFC 7518 §3.3 (RSA keys below 2048 bits are refused); RFC 8725 §3.1.
"""

import asyncio
import logging
import ssl
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any, Literal
from weakref import WeakKeyDictionary

import httpx
from jwt import PyJWK, PyJWTError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from lib.machinery.gate.auth import KEYS_RETRY_S, Unauthenticated

ALGORITHMS = ("RS256", "ES256")
FETCH_LIMIT_S = 2.0
MAX_BODY_BYTES = 256 * 1024
MAX_KEYS = 32
FRESH = timedelta(minutes=10)  # so long a key that the issuer withdrew may still count
STALE = timedelta(hours=1)  # the same, while the issuer does not answer
REFRESH_PAUSE = timedelta(seconds=30)  # made-up key ids cause no more fetches than this
RETRY_PAUSE = timedelta(seconds=KEYS_RETRY_S)
CLOCK_STEP = timedelta(minutes=1)  # an instant further ahead than this means the clock was set
LOG = logging.getLogger("settle.gate")

type Json = Any  # what the issuer sent, checked where it is read


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The usable keys of one answer, and the time of the request that fetched them."""

    keys: tuple[PyJWK, ...]
    at: datetime


def _with_verify(operations: list[str]) -> list[str]:
    if "verify" not in operations:
        raise ValueError("not for verifying")
    return operations


class KeySetDocument(BaseModel):
    """RFC 7517 §5."""

    keys: Annotated[list[Json], Field(max_length=MAX_KEYS)]


class VerifyingKey(BaseModel):
    """What a key must say of itself to count; the library reads its numbers.

    d: a private key's number: a key that was published with it is private no more.
    """

    model_config = ConfigDict(strict=True, extra="allow")

    kid: str = ""
    alg: Literal["RS256", "ES256"] = "RS256"
    use: Literal["sig"] = "sig"
    key_ops: Annotated[list[str], AfterValidator(_with_verify)] = ["verify"]
    d: None = None


class KeySet:
    """The keys behind one URL. Times are wall clock: a frozen function's steady clock stands."""

    def __init__(self, url: str) -> None:
        """Remember where the keys are; nothing is fetched yet."""
        self._url = url
        self._held: Fetched | None = None
        self._fetches = 0
        self._failed_at: datetime | None = None  # None where the latest fetch went well
        self._asked_early_at: datetime | None = None  # for a key id that a fresh set lacked
        # A lock belongs to one event loop, and a process may run several, one after the other.
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def find(
        self, kid: str | None, algorithm: str, *, now: datetime
    ) -> PyJWK | Unauthenticated:
        """Find the one key that fits, with at most one fetch.

        Args: kid: None fits any key, and is refused where more than one is left.
        """
        key = self._pick(kid, algorithm, not_before=now - FRESH, now=now)
        if key is not None:
            return key
        before = self._fetches
        async with self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            # Whoever had the turn before may have fetched what we miss, or just failed to.
            key = self._pick(kid, algorithm, not_before=now - FRESH, now=now)
            if key is None and self._fetches == before and not self._is_paused(now):
                await self._refresh(now)
        key = self._pick(kid, algorithm, not_before=now - STALE, now=now)
        if key is not None:
            return key
        is_known = self._failed_at is None and self._held is not None
        return Unauthenticated("unknown_key" if is_known else "keys_unavailable")

    def _pick(
        self, kid: str | None, algorithm: str, *, not_before: datetime, now: datetime
    ) -> PyJWK | None:
        if self._held is None or not not_before < self._held.at <= now + CLOCK_STEP:
            return None
        fitting = [
            key
            for key in self._held.keys
            if key.algorithm_name == algorithm and kid in {None, key.key_id}
        ]
        return fitting[0] if len(fitting) == 1 else None

    def _is_paused(self, now: datetime) -> bool:
        if self._failed_at is not None:
            return now - RETRY_PAUSE < self._failed_at <= now + CLOCK_STEP
        last = self._asked_early_at
        return last is not None and now - REFRESH_PAUSE < last <= now + CLOCK_STEP

    async def _refresh(self, now: datetime) -> None:
        # A cancelled fetch leaves no trace: a caller who hangs up must not pause the others.
        is_early = self._held is not None and self._held.at > now - FRESH
        keys = await fetch_keys(self._url)
        self._fetches += 1
        self._failed_at = now if keys is None else None
        self._asked_early_at = now if is_early else self._asked_early_at
        if keys is not None:
            self._held = Fetched(keys=keys, at=now)


async def fetch_keys(url: str) -> tuple[PyJWK, ...] | None:
    """Fetch and read a key set; None where that failed, whatever the cause, which is logged."""
    try:
        async with asyncio.timeout(FETCH_LIMIT_S):
            return read_keys(await _fetch(url))
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as fault:
        LOG.warning("keys_unavailable", extra={"fault": type(fault).__name__})
        return None


async def _fetch(url: str) -> bytes:
    # Unencoded and raw, so that the limit holds for what arrives: no bomb can be unpacked.
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    body = bytearray()
    async with (
        httpx.AsyncClient(verify=_authorities(), timeout=FETCH_LIMIT_S, trust_env=False) as client,
        client.stream("GET", url, headers=headers) as answer,
    ):
        if answer.status_code != HTTPStatus.OK:
            raise ValueError("the issuer did not answer 200")
        async for part in answer.aiter_raw():
            body += part
            if len(body) > MAX_BODY_BYTES:
                raise ValueError("the key set is too large")
    return bytes(body)


@cache
def _authorities() -> ssl.SSLContext:
    # Reading the certificates takes some 40 ms, so it is done once per process.
    return httpx.create_ssl_context(trust_env=False)


def read_keys(body: bytes) -> tuple[PyJWK, ...]:
    """Read the keys that may verify a token here, and skip the others.

    Raises: ValueError: no key set, or one with more than MAX_KEYS keys.
    """
    entries = KeySetDocument.model_validate_json(body).keys
    keys = (_read_key(entry) for entry in entries)
    return tuple(key for key in keys if key is not None)


def _read_key(entry: Json) -> PyJWK | None:
    try:
        said = VerifyingKey.model_validate(entry).model_dump(exclude_unset=True)
        key = PyJWK(said)
        key.Algorithm.prepare_key(key.key)  # refuses a curve that is not the algorithm's
    except (PyJWTError, ValueError, TypeError):
        return None
    is_long_enough = key.Algorithm.check_key_length(key.key) is None
    return key if is_long_enough and key.algorithm_name in ALGORITHMS else None
