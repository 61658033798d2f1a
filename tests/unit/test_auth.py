"""Agent keys: who a presented key names, what it grants, and what everything else is refused as."""

import asyncio
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from lib.contract import Principal, Scope
from lib.machinery.gate.auth import (
    AGENT_KEY_ISSUER,
    MAX_HEADER_CHARS,
    Authenticator,
    TrustedIssuer,
    Unauthenticated,
    trusted_issuer,
)
from lib.machinery.gate.decide import COMMAND_SCOPE, QUERY_SCOPE, Grant
from lib.settings import AgentKey, Settings

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
END = NOW + timedelta(days=1)


def entry(key: str, name: str, *scopes: Scope, expires: datetime | None = None) -> AgentKey:
    digest = hashlib.sha256(key.encode()).hexdigest()
    return AgentKey(id=name, sha256=digest, scopes=list(scopes), expires=expires)


KEYS = (
    entry("key-of-ada", "ada", QUERY_SCOPE, expires=END),
    entry("next-key-of-ada", "ada", QUERY_SCOPE, COMMAND_SCOPE),
    entry("key.with.dots", "bob"),
)


def ask(
    header: str | None, *, now: datetime = NOW, who: Authenticator | None = None
) -> Grant | Unauthenticated:
    return asyncio.run((who or Authenticator(KEYS)).authenticate(header, now=now))


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "bEaReR   "])
def test_a_key_names_its_entry_under_any_spelling_of_the_scheme(scheme: str) -> None:
    principal = Principal(issuer=AGENT_KEY_ISSUER, subject="ada")

    assert ask(f"{scheme}key-of-ada") == Grant(principal=principal, scopes=frozenset({QUERY_SCOPE}))


def test_a_rotated_key_keeps_the_name_and_each_key_its_own_scopes_and_end() -> None:
    old, new = ask("Bearer key-of-ada"), ask("Bearer next-key-of-ada", now=END)

    assert isinstance(old, Grant)
    assert isinstance(new, Grant)
    assert old.principal == new.principal
    assert (old.scopes, new.scopes) == ({QUERY_SCOPE}, {QUERY_SCOPE, COMMAND_SCOPE})


def test_a_key_has_expired_at_the_instant_it_names() -> None:
    moment = timedelta(microseconds=1)

    assert isinstance(ask("Bearer key-of-ada", now=END - moment), Grant)
    assert ask("Bearer key-of-ada", now=END) == Unauthenticated("expired")
    assert ask("Bearer key-of-ada", now=END + moment) == Unauthenticated("expired")


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (None, "missing"),
        ("", "missing"),
        (" ", "malformed"),
        ("Bearer", "malformed"),
        ("Bearer ", "malformed"),
        ("Bearer\tkey-of-ada", "malformed"),
        ("Bearerkey-of-ada", "malformed"),
        (" Bearer key-of-ada", "malformed"),
        ("Bearer key-of-ada ", "malformed"),
        ("Bearer key-of-ada\n", "malformed"),
        ("Bearer key-of-ada, Bearer key-of-ada", "malformed"),
        ("Bearer key-of-ada key-of-ada", "malformed"),
        ("Bearer Bearer key-of-ada", "malformed"),
        ("Basic a2V5LW9mLWFkYQ==", "malformed"),
        ("key-of-ada", "malformed"),
        ("Bearer kéy-of-ada", "malformed"),
        ("Bearer key-of-ada\x00", "malformed"),
        ("Bearer \u212aey-of-ada", "malformed"),
        ("Bearer " + "k" * (MAX_HEADER_CHARS - 6), "malformed"),
        ("Bearer " + "k" * (MAX_HEADER_CHARS - 7), "unknown"),
        ("Bearer Key-of-ada", "unknown"),
        ("Bearer key-of-ad", "unknown"),
        (f"Bearer {KEYS[0].sha256}", "unknown"),
        ("Bearer ada", "unknown"),
        ("Bearer a.b.c", "unknown"),
    ],
)
def test_anything_else_is_refused_with_a_reason(header: str | None, reason: str) -> None:
    answer = ask(header)

    assert isinstance(answer, Unauthenticated)
    assert answer.reason == reason


class Counted(tuple[AgentKey, ...]):
    """Counts the entries that were looked at."""

    __slots__ = ()
    seen: list[str] = []  # noqa: RUF012  one list for the one test

    def __iter__(self) -> Iterator[AgentKey]:
        for key in super().__iter__():
            self.seen.append(key.id)
            yield key


def test_every_entry_is_compared_wherever_the_match_is() -> None:
    who = Authenticator(Counted(KEYS))

    for presented in ("key-of-ada", "next-key-of-ada", "key.with.dots", "no-key"):
        Counted.seen.clear()
        ask(f"Bearer {presented}", who=who)
        assert Counted.seen == ["ada", "ada", "bob"]


def test_a_refusal_shows_nothing_of_the_credential() -> None:
    assert "secret" not in repr(ask("Bearer secret-key")) + repr(ask("secret key"))


def test_the_settings_name_the_keys_and_the_trusted_issuer() -> None:
    named = {"auth_issuer": "https://i", "auth_audience": "a", "auth_jwks_url": "https://i/keys"}
    keys = f'[{{"id": "ada", "sha256": "{KEYS[0].sha256}", "scopes": []}}]'
    settings = Settings.model_construct(**named, agent_keys=keys)  # pyright: ignore[reportArgumentType]

    assert trusted_issuer(settings) == TrustedIssuer(
        issuer="https://i", audience="a", jwks_url="https://i/keys"
    )
    assert trusted_issuer(Settings.model_construct(auth_issuer="https://i")) is None
    assert isinstance(ask("Bearer key-of-ada", who=Authenticator.of(settings)), Grant)
