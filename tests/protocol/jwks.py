"""A token issuer on loopback: real keys, real tokens, a real key set, and faults on demand."""

import asyncio
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from starlette.types import Receive, Scope, Send

from lib.dev.serving import serve
from lib.machinery.gate.auth import Authenticator, TrustedIssuer, Unauthenticated
from lib.machinery.gate.decide import Grant

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
AT = int(NOW.timestamp())
ISSUER = "https://issuer.example/tenant"
AUDIENCE = "https://items.example/mcp"
WAIT_LIMIT_S = 5.0
DRIP_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """One key pair of the issuer."""

    kid: str
    algorithm: str
    private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

    @classmethod
    def rs256(cls, kid: str, *, bits: int = 2048) -> Self:
        """Make an RSA pair."""
        private = rsa.generate_private_key(public_exponent=65537, key_size=bits)
        return cls(kid=kid, algorithm="RS256", private=private)

    @classmethod
    def es256(cls, kid: str) -> Self:
        """Make a P-256 pair."""
        return cls(kid=kid, algorithm="ES256", private=ec.generate_private_key(ec.SECP256R1()))

    def jwk(self, **more: object) -> dict[str, Any]:
        """Publish the public half; a value of None leaves that member out."""
        public = self.private.public_key()
        if isinstance(public, rsa.RSAPublicKey):
            numbers = RSAAlgorithm.to_jwk(public, as_dict=True)
        else:
            numbers = ECAlgorithm.to_jwk(public, as_dict=True)
        entry = {**numbers, "kid": self.kid, "use": "sig", "alg": self.algorithm, **more}
        return {name: value for name, value in entry.items() if value is not None}

    def token(self, header: dict[str, Any] | None = None, **changed: object) -> str:
        """Sign the usual claims, some changed; a value of None leaves that claim out."""
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": AT + 300, **changed}
        said = {name: value for name, value in claims.items() if value is not None}
        headers = {"kid": self.kid, **(header or {})}
        headers = {name: value for name, value in headers.items() if value is not None}
        payload = json.dumps(said).encode()
        return jwt.PyJWS().encode(payload, self.private, self.algorithm, headers)


class Issuer:
    """An ASGI app that serves a key set, counts how often, and does what the test says."""

    def __init__(self) -> None:
        """Start with no key, in good health."""
        self.url = ""
        self.fetches = 0
        self.status = 200
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b'{"keys": []}'
        self.arrived = threading.Semaphore(0)
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.is_dripping = False

    def publish(self, *keys: Signer | dict[str, Any]) -> None:
        """Serve exactly these keys from now on."""
        entries = [key.jwk() if isinstance(key, Signer) else key for key in keys]
        self.body = json.dumps({"keys": entries}).encode()

    def authenticator(self) -> Authenticator:
        """Make one that trusts this issuer, and has fetched nothing yet."""
        trusted = TrustedIssuer(issuer=ISSUER, audience=AUDIENCE, jwks_url=self.url)
        return Authenticator((), trusted)

    def ask(self, token: str) -> Grant | Unauthenticated:
        """Present a token to an authenticator that holds no key yet."""
        return asyncio.run(self.authenticator().authenticate(f"Bearer {token}", now=NOW))

    def refusal(self, token: str) -> str:
        """Tell why a token is refused."""
        answer = self.ask(token)
        assert isinstance(answer, Unauthenticated)
        return answer.reason

    def grant(self, token: str) -> Grant:
        """Tell what a good token grants."""
        answer = self.ask(token)
        assert isinstance(answer, Grant)
        return answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one fetch."""
        assert scope["type"] == "http"
        assert not (await receive()).get("more_body")
        self.fetches += 1
        self.arrived.release()
        if not self.is_dripping:
            await asyncio.to_thread(self.may_answer.wait, WAIT_LIMIT_S)
        headers = [(b"content-type", b"application/json"), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        while not await asyncio.to_thread(self.may_answer.wait, DRIP_S):
            await send({"type": "http.response.body", "body": b" ", "more_body": True})
        await send({"type": "http.response.body", "body": self.body})


@contextmanager
def serve_issuer() -> Generator[Issuer]:
    """Serve an issuer while the block runs."""
    issuer = Issuer()
    with serve(issuer) as served:
        issuer.url = f"{served.url}/keys"
        try:
            yield issuer
        finally:
            issuer.may_answer.set()
