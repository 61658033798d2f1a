"""JWT access tokens: which are accepted, and what they grant.

Signed with RS256 or ES256 by the trusted issuer, for this audience, with `exp` and `sub`. An
expiry counts to the instant; only `nbf` and `iat` get LEEWAY_S, for an issuer whose clock is
ahead. The library verifies the signature; the claims are judged here, because it brings a clock
of its own.
Source: RFC 7519 §4.1; RFC 8725 §3 (algorithms, audience, explicit types); RFC 9068 §2.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from jwt import PyJWK, PyJWS, PyJWTError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from lib.contract import Principal, Scope
from lib.machinery.gate.auth import Refusal, TrustedIssuer, Unauthenticated
from lib.machinery.gate.decide import Grant
from lib.machinery.gate.jwks import ALGORITHMS, KeySet

LEEWAY_S = 30
MAX_SUBJECT_CHARS = 512
TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
SCOPE = r"^[!#-\[\]-~]{1,128}$"  # RFC 6749 §3.3
SCOPE_LIST = r"^[ !#-\[\]-~]*$"

type Json = Any  # what a token says, checked where it is read
type Instant = int | Annotated[float, Field(allow_inf_nan=False)]


def _printable(name: str) -> str:
    # Leaves out control characters, which a log or a header could not hold.
    if not name.strip() or not name.isprintable():
        raise ValueError("empty, or with a character that cannot be printed")
    return name


class Claims(BaseModel):
    """The claims that count, in the types that RFC 7519 gives them."""

    model_config = ConfigDict(strict=True)

    iss: str
    sub: Annotated[str, Field(max_length=MAX_SUBJECT_CHARS), AfterValidator(_printable)]
    aud: str | list[str]
    exp: Instant
    nbf: Instant = 0
    iat: Instant = 0
    scope: Annotated[str, Field(pattern=SCOPE_LIST)] | None = None
    scp: Annotated[str, Field(pattern=SCOPE_LIST)] | list[Annotated[str, Field(pattern=SCOPE)]] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a token says about its signature; nothing of it is believed, only looked up."""

    algorithm: str
    kid: str | None


class Tokens:
    """Verifies the tokens of one issuer."""

    def __init__(self, trusted: TrustedIssuer) -> None:
        """Start without keys; the first token fetches them."""
        self._trusted = trusted
        self._keys = KeySet(trusted.jwks_url)
        self._signatures = PyJWS(algorithms=ALGORITHMS)

    async def verify(self, token: str, *, now: datetime) -> Grant | Unauthenticated:
        """Tell whom a token names and what it grants, or why it does not count."""
        header = self._read_header(token)
        if isinstance(header, Unauthenticated):
            return header
        key = await self._keys.find(header.kid, header.algorithm, now=now)
        if isinstance(key, Unauthenticated):
            return key
        claims = self._read_claims(token, key)
        if isinstance(claims, Unauthenticated):
            return claims
        fault = _fault_in(claims, self._trusted, now.timestamp())
        return _grant_of(claims) if fault is None else Unauthenticated(fault)

    def _read_header(self, token: str) -> Header | Unauthenticated:
        try:
            said = self._signatures.get_unverified_header(token)
        except PyJWTError:
            return Unauthenticated("malformed")
        if said.get("alg") not in ALGORITHMS:
            return Unauthenticated("algorithm")
        kind: Json = said.get("typ", "JWT")
        # RFC 7515 §4.1.11: an extension that must be understood, and none is understood here.
        if "crit" in said or not isinstance(kind, str) or kind.lower() not in TYPES:
            return Unauthenticated("header")
        return Header(algorithm=said["alg"], kid=said.get("kid"))

    def _read_claims(self, token: str, key: PyJWK) -> Claims | Unauthenticated:
        try:
            verified = self._signatures.decode_complete(token, key, ALGORITHMS)
            return Claims.model_validate_json(verified["payload"])
        except PyJWTError:
            return Unauthenticated("signature")
        except ValidationError:
            return Unauthenticated("claims")


def _fault_in(claims: Claims, trusted: TrustedIssuer, at: float) -> Refusal | None:
    audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    if claims.iss != trusted.issuer:
        return "issuer"
    if trusted.audience not in audiences:
        return "audience"
    if at >= claims.exp:
        return "expired"
    if max(claims.nbf, claims.iat) > at + LEEWAY_S:
        return "not_yet_valid"
    return None


def _grant_of(claims: Claims) -> Grant:
    said = claims.scp if claims.scope is None else claims.scope
    names = said.split(" ") if isinstance(said, str) else said
    principal = Principal(issuer=claims.iss, subject=claims.sub)
    return Grant(principal=principal, scopes=frozenset(Scope(name) for name in names if name))
