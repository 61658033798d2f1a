"""JWT access tokens against a real issuer on loopback: what counts, and what each forgery gets."""

import asyncio
import base64
import hashlib
import hmac
import json
import random  # noqa: TID251  seeded, so that a failure can be repeated
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from lib.contract import Principal
from lib.machinery.gate.auth import AGENT_KEY_ISSUER, Authenticator, TrustedIssuer, Unauthenticated
from lib.machinery.gate.decide import Grant
from lib.machinery.gate.jwks import STALE
from lib.settings import AgentKey
from tests.protocol.jwks import AT, AUDIENCE, ISSUER, NOW, Issuer, Signer, serve_issuer

ADA = Principal(issuer=ISSUER, subject="ada")
RSA, EC = Signer.rs256("r1"), Signer.es256("e1")


@pytest.fixture(scope="module")
def served() -> Generator[Issuer]:
    with serve_issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(served: Issuer) -> Issuer:
    served.publish(RSA, EC)
    return served


def unsigned(header: dict[str, Any], signature: bytes = b"") -> str:
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": AT + 300}
    parts = [json.dumps(part).encode() for part in (header, claims)]
    return ".".join(base64.urlsafe_b64encode(p).rstrip(b"=").decode() for p in [*parts, signature])


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"typ": "at+jwt"}, None),
        ({"typ": "application/AT+JWT"}, None),
        ({"typ": ""}, None),  # the signer leaves it out
        ({"typ": "dpop+jwt"}, "header"),
        ({"typ": 7}, "header"),
        ({"crit": ["exp"], "exp": 1}, "malformed"),
        ({"kid": ""}, "unknown_key"),
        ({"kid": "r1"}, "unknown_key"),  # the other algorithm's key
    ],
)
def test_a_header_is_refused_where_it_says_what_is_not_understood(
    issuer: Issuer, header: dict[str, Any], reason: str | None
) -> None:
    answer = issuer.ask(EC.token(header))

    assert getattr(answer, "reason", None) == reason


def test_a_token_that_names_no_key_counts_where_only_one_fits(issuer: Issuer) -> None:
    anonymous = EC.token({"kid": None})

    issuer.publish(RSA, EC)
    assert issuer.grant(anonymous).principal == ADA
    issuer.publish(RSA, EC, Signer.es256("e2"))
    assert issuer.refusal(anonymous) == "unknown_key"
    issuer.publish(EC.jwk(kid=None))
    assert issuer.grant(anonymous).principal == ADA
    assert issuer.refusal(EC.token()) == "unknown_key"


def test_two_keys_of_one_name_are_none(issuer: Issuer) -> None:
    issuer.publish(EC, Signer.es256("e1"))

    assert issuer.refusal(EC.token()) == "unknown_key"


def test_an_extension_that_must_be_understood_is_refused(issuer: Issuer) -> None:
    header = {"alg": "ES256", "kid": "e1", "crit": ["b64"]}

    assert issuer.refusal(unsigned({**header, "b64": True})) == "header"
    assert issuer.refusal(unsigned({**header, "b64": False})) == "malformed"


def test_a_public_key_is_no_shared_secret(issuer: Issuer) -> None:
    for form in (PublicFormat.SubjectPublicKeyInfo, PublicFormat.PKCS1):
        secret = RSA.private.public_key().public_bytes(Encoding.PEM, form)
        for header in ({"alg": "HS256", "kid": "r1"}, {"alg": "HS256"}):
            signing_input = unsigned(header).rpartition(".")[0]
            signature = hmac.digest(secret, signing_input.encode(), hashlib.sha256)

            assert issuer.refusal(unsigned(header, signature)) == "algorithm"


@pytest.mark.parametrize("alg", ["none", "None", "", "RS512", "PS256", "ES384", "EdDSA", ["RS256"]])
def test_any_other_algorithm_is_refused_before_a_key_is_fetched(
    issuer: Issuer, alg: object
) -> None:
    before = issuer.fetches

    assert issuer.refusal(unsigned({"alg": alg, "kid": "r1"}, b"x")) == "algorithm"
    assert issuer.fetches == before


def test_a_signature_must_be_the_issuers(issuer: Issuer) -> None:
    for stranger, alg in ((Signer.rs256("r1"), "RS256"), (Signer.es256("e1"), "ES256")):
        head, body, _ = stranger.token().split(".")
        assert issuer.refusal(stranger.token()) == "signature"
        assert issuer.refusal(unsigned({"alg": alg, "kid": stranger.kid})) == "signature"
        assert issuer.refusal(f"{head}.{body}.") == "signature"


def test_a_token_cannot_bring_its_own_key(issuer: Issuer) -> None:
    mallory = Signer.es256("e9")
    header = {"jwk": mallory.jwk(), "jku": "https://mallory.example/keys"}

    assert issuer.refusal(mallory.token(header)) == "unknown_key"
    assert issuer.refusal(mallory.token({**header, "kid": "e1"})) == "signature"


def test_no_mutation_of_a_token_is_accepted_or_raises(issuer: Issuer) -> None:
    dice, good = random.Random(7), EC.token(scope="call:tools").split(".")  # noqa: S311
    authenticator = issuer.authenticator()

    async def ask_all() -> None:
        for _ in range(500):
            parts = [bytearray(part.encode()) for part in good]
            part = dice.choice(parts)
            part[dice.randrange(len(part))] = dice.choice(b'AZaz09-_=.!"{}')
            token = b".".join(parts).decode()
            answer = await authenticator.authenticate(f"Bearer {token}", now=NOW)
            assert isinstance(answer, Unauthenticated) or token == ".".join(good)

    asyncio.run(ask_all())


def test_nothing_for_tokens_is_imported_until_one_comes() -> None:
    script = (
        "import sys; from lib.machinery.gate import auth, challenge;"
        "print(sorted({'jwt','cryptography','httpx','mcp','anyio'} & set(sys.modules)))"
    )
    run = subprocess.run(  # noqa: S603  our own interpreter and the line above
        [sys.executable, "-c", script], check=True, capture_output=True, timeout=5
    )

    assert run.stdout.strip() == b"[]"


def test_a_tokens_name_outlives_its_key(issuer: Issuer) -> None:
    authenticator, after = issuer.authenticator(), NOW + STALE
    successor = Signer.es256("e2")

    async def rotate() -> list[Grant | Unauthenticated]:
        before = await authenticator.authenticate(f"Bearer {EC.token()}", now=NOW)
        issuer.publish(successor)
        later = successor.token(exp=AT + 7200)
        then = await authenticator.authenticate(f"Bearer {later}", now=after)
        old = EC.token(exp=AT + 7200)
        return [before, then, await authenticator.authenticate(f"Bearer {old}", now=after)]

    before, then, old = asyncio.run(rotate())
    assert before == then == Grant(principal=ADA, scopes=frozenset())
    assert old == Unauthenticated("unknown_key")


def test_an_agent_key_is_known_before_anything_is_taken_for_a_token(issuer: Issuer) -> None:
    digest = hashlib.sha256(b"key.with.dots").hexdigest()
    key, before = AgentKey(id="bob", sha256=digest, scopes=[]), issuer.fetches
    trusted = TrustedIssuer(issuer=ISSUER, audience=AUDIENCE, jwks_url=issuer.url)
    who = Authenticator((key,), trusted)

    async def ask_all(*credentials: str) -> list[Grant | Unauthenticated]:
        return [await who.authenticate(f"Bearer {text}", now=NOW) for text in credentials]

    assert asyncio.run(ask_all("key.with.dots", "a.b.c", "a.b", "a.b.c.d.e")) == [
        Grant(principal=Principal(issuer=AGENT_KEY_ISSUER, subject="bob"), scopes=frozenset()),
        Unauthenticated("malformed"),
        Unauthenticated("unknown"),
        Unauthenticated("unknown"),
    ]
    assert issuer.fetches == before
