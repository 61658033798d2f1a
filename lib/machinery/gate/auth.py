"""Who is calling: a bearer credential to a grant, or the reason why not.

The principal is named by the credential's issuer and subject, never by the credential, so
replacing a key or a token changes nobody's name. No clock and no I/O but the issuer's key set,
which `tokens` reads, and that is imported only when a token needs it.
Source: DESIGN §7; RFC 6750 §2.1 (the header).
"""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Self

from lib.contract import Principal
from lib.machinery.gate.decide import AGENT_KEY_ISSUER, Grant
from lib.settings import AgentKey, Settings

if TYPE_CHECKING:
    from lib.machinery.gate.tokens import Tokens

KEYS_RETRY_S = 5  # after a failed fetch of the issuer's keys; the caller is told so too
MAX_HEADER_CHARS = 8192
BEARER = re.compile(r"bearer +([!-~]+)", re.IGNORECASE | re.ASCII)
DOTS_IN_A_TOKEN = 2

Refusal = Literal[
    "missing",
    "malformed",
    "unknown",
    "expired",
    "not_yet_valid",
    "header",
    "algorithm",
    "unknown_key",
    "keys_unavailable",
    "signature",
    "issuer",
    "audience",
    "claims",
]


@dataclass(frozen=True, slots=True)
class Unauthenticated:
    """Nobody we know. reason: for the audit line; it holds nothing of the credential."""

    reason: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedIssuer:
    """Whose tokens count, for whom they must be made, and where the public keys are."""

    issuer: str
    audience: str
    jwks_url: str


class Authenticator:
    """Knows the agent keys and the trusted issuer; keeps the issuer's key set between calls."""

    def __init__(self, keys: Sequence[AgentKey], trusted: TrustedIssuer | None = None) -> None:
        """Take what is configured. trusted: None refuses every token."""
        self._keys = keys
        self._grants = {key.sha256: _grant_of(key) for key in keys}
        self._trusted = trusted
        self._tokens: Tokens | None = None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Build from settings without faults."""
        return cls(settings.keys, trusted_issuer(settings))

    async def authenticate(
        self, authorization: str | None, *, now: datetime
    ) -> Grant | Unauthenticated:
        """Tell who presents this credential, and what they were given.

        Args: authorization: the header's value; several headers joined by a comma are refused.
              now: aware; a credential has expired at the very instant it names.
        """
        credential = _read_bearer(authorization)
        if isinstance(credential, Unauthenticated):
            return credential
        key = _find_key(self._keys, credential)
        if key is not None:
            is_over = key.expires is not None and now >= key.expires
            return Unauthenticated("expired") if is_over else self._grants[key.sha256]
        if self._trusted is None or credential.count(".") != DOTS_IN_A_TOKEN:
            return Unauthenticated("unknown")
        if self._tokens is None:
            from lib.machinery.gate.tokens import Tokens  # brings cryptography and an HTTP client

            self._tokens = Tokens(self._trusted)
        return await self._tokens.verify(credential, now=now)


def trusted_issuer(settings: Settings) -> TrustedIssuer | None:
    """Read the three AUTH_ names; None unless all are set."""
    match (settings.auth_issuer, settings.auth_audience, settings.auth_jwks_url):
        case (str(issuer), str(audience), str(jwks_url)):
            return TrustedIssuer(issuer=issuer, audience=audience, jwks_url=jwks_url)
        case _:
            return None


def _read_bearer(authorization: str | None) -> str | Unauthenticated:
    if not authorization:
        return Unauthenticated("missing")
    # Measured first: nothing long is ever parsed.
    is_long = len(authorization) > MAX_HEADER_CHARS
    bearer = None if is_long else BEARER.fullmatch(authorization)
    return Unauthenticated("malformed") if bearer is None else bearer.group(1)


def _find_key(keys: Sequence[AgentKey], credential: str) -> AgentKey | None:
    digest = hashlib.sha256(credential.encode("ascii")).hexdigest()
    # Every entry is compared, so that the time tells nothing about which one matched.
    found = [key for key in keys if hmac.compare_digest(digest, key.sha256)]
    return found[0] if found else None


def _grant_of(key: AgentKey) -> Grant:
    principal = Principal(issuer=AGENT_KEY_ISSUER, subject=key.id)
    return Grant(principal=principal, scopes=frozenset(key.scopes))
