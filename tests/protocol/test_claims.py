"""What a signed token must claim, and what it then grants."""

import asyncio
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import pytest

from lib.contract import Principal
from lib.machinery.gate.decide import COMMAND_SCOPE, QUERY_SCOPE, Grant
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


@pytest.mark.parametrize("signer", [RSA, EC], ids=["RS256", "ES256"])
def test_a_token_names_its_issuer_and_subject_and_grants_its_scopes(
    issuer: Issuer, signer: Signer
) -> None:
    token = signer.token(scope="call:tools  call:write_tools", iat=AT, nbf=AT)

    assert issuer.grant(token) == Grant(
        principal=ADA, scopes=frozenset({QUERY_SCOPE, COMMAND_SCOPE})
    )


@pytest.mark.parametrize(
    "claims",
    [
        {"scp": ["call:tools"]},
        {"scp": "call:tools"},
        {"scope": "call:tools", "scp": ["call:write_tools"]},
        {"scope": "call:tools", "aud": ["https://other.example", AUDIENCE]},
        {"scope": "call:tools", "iat": AT + 30, "nbf": AT + 30},
        {"scope": "call:tools", "exp": AT + 0.5},
    ],
)
def test_these_claims_grant_one_scope(issuer: Issuer, claims: dict[str, Any]) -> None:
    assert issuer.grant(EC.token(**claims)).scopes == {"call:tools"}


@pytest.mark.parametrize("claims", [{}, {"scope": ""}, {"scope": "", "scp": "call:tools"}])
def test_a_token_without_scopes_is_someone_who_may_nothing(
    issuer: Issuer, claims: dict[str, Any]
) -> None:
    assert issuer.grant(EC.token(**claims)) == Grant(principal=ADA, scopes=frozenset())


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": ISSUER + "/"}, "issuer"),
        ({"iss": None}, "claims"),
        ({"iss": [ISSUER]}, "claims"),
        ({"aud": AUDIENCE + "/"}, "audience"),
        ({"aud": AUDIENCE[:-1]}, "audience"),
        ({"aud": []}, "audience"),
        ({"aud": None}, "claims"),
        ({"aud": [AUDIENCE, 7]}, "claims"),
        ({"aud": {AUDIENCE: 1}}, "claims"),
        ({"exp": AT}, "expired"),
        ({"exp": 0}, "expired"),
        ({"exp": -(10**400)}, "expired"),
        ({"iat": 10**400}, "not_yet_valid"),
        ({"exp": None}, "claims"),
        ({"exp": str(AT + 300)}, "claims"),
        ({"exp": True}, "claims"),
        ({"exp": float("nan")}, "claims"),
        ({"exp": float("inf")}, "claims"),
        ({"nbf": AT + 31}, "not_yet_valid"),
        ({"iat": AT + 31}, "not_yet_valid"),
        ({"nbf": "0"}, "claims"),
        ({"nbf": float("-inf")}, "claims"),
        ({"sub": None}, "claims"),
        ({"sub": ""}, "claims"),
        ({"sub": "  "}, "claims"),
        ({"sub": 7}, "claims"),
        ({"sub": "a\nb"}, "claims"),
        ({"sub": "\ud800"}, "claims"),
        ({"sub": "a" * 513}, "claims"),
        ({"scope": ["call:tools"]}, "claims"),
        ({"scope": 'call:tools"'}, "claims"),
        ({"scope": "call:tools\n"}, "claims"),
        ({"scp": ["call:tools call:write_tools"]}, "claims"),
        ({"scp": [1]}, "claims"),
    ],
)
def test_a_signed_token_with_a_wrong_claim_is_refused(
    issuer: Issuer, claims: dict[str, Any], reason: str
) -> None:
    assert issuer.refusal(EC.token(**claims)) == reason


def test_a_token_is_good_until_the_instant_it_names(issuer: Issuer) -> None:
    authenticator, header = issuer.authenticator(), f"Bearer {EC.token(exp=AT)}"

    async def at(ms: int) -> bool:
        now = NOW + timedelta(milliseconds=ms)
        return isinstance(await authenticator.authenticate(header, now=now), Grant)

    async def around() -> list[bool]:
        return [await at(ms) for ms in (-1, 0, 1)]

    assert asyncio.run(around()) == [True, False, False]
