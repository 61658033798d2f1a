"""What an issuer may publish: which keys verify a token, and which answers are no key set."""

import asyncio
import gzip
import json
from collections.abc import Generator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from lib.machinery.gate.auth import Authenticator, TrustedIssuer, Unauthenticated
from lib.machinery.gate.decide import Grant
from lib.machinery.gate.jwks import MAX_BODY_BYTES, MAX_KEYS, read_keys
from tests.protocol.jwks import AUDIENCE, ISSUER, NOW, Issuer, Signer, serve_issuer

EC, RSA = Signer.es256("k1"), Signer.rs256("r1")
WEAK = Signer.rs256("w1", bits=1024)
PRIVATE_EC = ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()), as_dict=True)
PRIVATE_RSA = {
    **RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 2048), as_dict=True),
    "key_ops": ["verify"],
}
P384 = ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP384R1()).public_key(), as_dict=True)


def algorithms(*entries: object) -> list[str]:
    return [key.algorithm_name for key in read_keys(json.dumps({"keys": entries}).encode())]


@pytest.mark.parametrize(
    ("entry", "algorithm"),
    [
        (EC.jwk(), "ES256"),
        (EC.jwk(alg=None, use=None, kid=None), "ES256"),
        (RSA.jwk(alg=None, use=None, key_ops=None), "RS256"),
        (RSA.jwk(key_ops=["verify", "sign"], x5t="x", more={"a": [1]}), "RS256"),
    ],
)
def test_a_key_for_signatures_counts_for_its_own_algorithm(
    entry: dict[str, Any], algorithm: str
) -> None:
    assert algorithms(entry) == [algorithm]


UNFIT: list[object] = [
    EC.jwk(use="enc"),
    EC.jwk(key_ops=["encrypt"]),
    EC.jwk(key_ops=[]),
    EC.jwk(key_ops=7),
    EC.jwk(kid=7),
    EC.jwk(alg="RS256"),
    EC.jwk(alg="HS256"),
    EC.jwk(alg="none"),
    EC.jwk(alg=["ES256"]),
    EC.jwk(crv="P-384"),
    EC.jwk(crv=None),
    EC.jwk(x="AAAA"),
    EC.jwk(x="A" * 43, y="A" * 43),
    EC.jwk(x=7),
    EC.jwk(kty="OKP"),
    EC.jwk(kty=None),
    RSA.jwk(alg="PS256"),
    RSA.jwk(alg="RS512"),
    RSA.jwk(alg="ES256"),
    RSA.jwk(e="AA"),
    RSA.jwk(e="AQ"),
    RSA.jwk(n=None),
    RSA.jwk(n=[]),
    RSA.jwk(n="é"),
    WEAK.jwk(),
    P384,
    {**P384, "alg": "ES256"},
    PRIVATE_EC,
    PRIVATE_RSA,
    {"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"},
    {"kty": "oct", "k": "c2VjcmV0"},
    {},
    [],
    None,
    7,
]


@pytest.mark.parametrize("entry", UNFIT)
def test_any_other_entry_is_skipped_and_spoils_none_beside_it(entry: object) -> None:
    assert algorithms(entry, EC.jwk(), entry) == ["ES256"]


def test_as_many_keys_as_the_limit_are_read() -> None:
    assert len(algorithms(*[EC.jwk()] * MAX_KEYS)) == MAX_KEYS
    with pytest.raises(ValueError, match="at most 32"):
        algorithms(*[EC.jwk()] * (MAX_KEYS + 1))


@pytest.fixture(scope="module")
def issuer() -> Generator[Issuer]:
    with serve_issuer() as served:
        yield served


def bad_answers() -> dict[str, tuple[int, bytes, list[tuple[bytes, bytes]]]]:
    good = json.dumps({"keys": [EC.jwk()]}).encode()
    too_many = json.dumps({"keys": [EC.jwk(), *[{}] * MAX_KEYS]}).encode()
    padded = good.ljust(MAX_BODY_BYTES + 1)
    return {
        "redirect": (302, good, [(b"location", b"/keys")]),
        "missing": (404, good, []),
        "no content": (204, b"", []),
        "no JSON": (200, b"<html>", []),
        "no set": (200, b"[]", []),
        "no list": (200, b'{"keys": {}}', []),
        "deep": (200, b'{"keys": ' + b"[" * 100_000, []),
        "too many": (200, too_many, []),
        "too large": (200, padded, []),
        "packed": (200, gzip.compress(good), [(b"content-encoding", b"gzip")]),
        "cut short": (200, good, [(b"content-length", b"%d" % (len(good) + 1))]),
    }


@pytest.mark.parametrize("kind", bad_answers())
def test_an_answer_that_is_no_key_set_is_silence(issuer: Issuer, kind: str) -> None:
    issuer.status, issuer.body, issuer.headers = bad_answers()[kind]

    issuer.fetches = 0
    who = issuer.authenticator()

    async def ask_twice() -> list[Grant | Unauthenticated]:
        return [await who.authenticate(f"Bearer {EC.token()}", now=NOW) for _ in range(2)]

    assert asyncio.run(ask_twice()) == [Unauthenticated("keys_unavailable")] * 2
    assert issuer.fetches == 1


def test_the_largest_key_set_is_read_whatever_its_headers_say(issuer: Issuer) -> None:
    good = json.dumps({"keys": [EC.jwk()]}).encode()
    issuer.status, issuer.body = 200, good.ljust(MAX_BODY_BYTES)
    issuer.headers = [(b"set-cookie", b"\xff=;;;"), (b"content-type", b"text/html")]

    assert issuer.grant(EC.token()).principal.subject == "ada"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/keys", "http://[::1", "http://127.0.0.1:0/"])
def test_an_issuer_that_cannot_be_reached_is_silence(url: str) -> None:
    who = Authenticator((), TrustedIssuer(issuer=ISSUER, audience=AUDIENCE, jwks_url=url))

    answer = asyncio.run(who.authenticate(f"Bearer {EC.token()}", now=NOW))

    assert answer == Unauthenticated("keys_unavailable")
