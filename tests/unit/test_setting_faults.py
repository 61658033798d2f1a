"""What makes an environment unusable: every fault together, each by name, none by value."""

import json
from dataclasses import astuple

import pytest

from lib.settings import Misconfigured
from tests.harness.settings import FULL, PREVIEW, SCRATCH, faults_of, given

KEY = {"id": "ann", "sha256": "ab" * 32, "scopes": ["call:tools"]}
JWT = {
    "AUTH_ISSUER": "https://issuer.example",
    "AUTH_AUDIENCE": "https://mcp.example/mcp",
    "AUTH_JWKS_URL": "https://issuer.example/keys",
}


def test_complete_environments_have_no_fault() -> None:
    for env in (FULL, PREVIEW, {**PREVIEW, **SCRATCH}, {**FULL, **JWT, "AGENT_KEYS": ""}):
        assert faults_of(env) == {}


@pytest.mark.parametrize(
    ("base", "name", "told"),
    [
        (FULL, "BACKEND_URL", "BACKEND_URL"),
        (FULL, "BACKEND_READ_TOKEN", "BACKEND_READ_TOKEN"),
        (FULL, "BACKEND_WRITE_TOKEN", "BACKEND_WRITE_TOKEN"),
        (FULL, "KV_REST_API_URL", "KV_REST_API_URL"),
        (FULL, "KV_REST_API_TOKEN", "KV_REST_API_TOKEN"),
        (FULL, "AGENT_KEYS", "AGENT_KEYS"),
        (PREVIEW, "KV_REST_API_READ_ONLY_TOKEN", "KV_REST_API_READ_ONLY_TOKEN"),
        (PREVIEW, "BACKEND_URL", "BACKEND_URL"),
        (PREVIEW, "AGENT_KEYS", "AGENT_KEYS"),
    ],
)
def test_a_missing_name_is_the_one_fault(base: dict[str, str], name: str, told: str) -> None:
    assert list(faults_of({**base, name: ""})) == [told]


def test_development_needs_nobody_to_be_able_to_call() -> None:
    assert faults_of({**FULL, "VERCEL_ENV": "development", "AGENT_KEYS": ""}) == {}


def test_all_faults_are_named_together_and_no_value_is_shown() -> None:
    bad = {
        **FULL,
        "BACKEND_URL": "http://secret-host.example",
        "BACKEND_READ_TOKEN": "",
        "BACKEND_WRITE_TOKEN": "two words of a secret",
        "KV_REST_API_URL": "secret-no-url",
        "KV_REST_API_TOKEN": "line\nsecret",
        "AGENT_KEYS": '[{"id": "secret id"}]',
        "AUTH_ISSUER": "https://secret-issuer.example",
        "STATE_KEY": "secret-short",
        "CRON_SECRET": "secret-cron",
        "ALLOWED_HOSTS": "https://secret-origin.example",
        "MAX_DURATION_S": "secret-minute",
        "BACKEND_TIMEOUT_S": "-7.25",
        "COMMIT_BUDGET_S": "nan",
        "KILL_SLACK_S": "0",
        "STORE_TIMEOUT_S": "inf",
        "RATE_LIMIT_PER_MINUTE": "0",
    }
    told = faults_of_the_environment(bad)
    assert told.keys() == bad.keys() - {
        "VERCEL_ENV",
        "AUTH_ISSUER",
        "KV_REST_API_READ_ONLY_TOKEN",
    } | {
        "AUTH_AUDIENCE",
        "AUTH_JWKS_URL",
    }
    shown = json.dumps(told)
    assert not [word for word in ("secret", "7.25") if word in shown]


def faults_of_the_environment(env: dict[str, str]) -> dict[str, str]:
    """Read an environment as a process does, where unreadable numbers are faults too."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        from lib.settings import read_settings

        read = read_settings()
    assert isinstance(read, Misconfigured)
    return dict(astuple(fault) for fault in read.faults)


@pytest.mark.parametrize("count", [1, 2])
def test_a_part_of_the_auth_names_is_a_fault_that_names_the_rest(count: int) -> None:
    names = sorted(JWT)
    given_names = {name: JWT[name] for name in names[:count]}
    assert faults_of({**FULL, **given_names}).keys() == set(names[count:])


@pytest.mark.parametrize(
    "url",
    [
        "items.example", "//items.example", "ftp://items.example", "http://items.example",
        "https://", "https:///path", "https://user@items.example", "https://:pw@items.example",
        "https://user:pw@items.example", "https://items.example?a=1", "https://items.example?",
        "https://items.example#", "https://items.example:99999", "http://127.0.0.1:0",
        " https://items.example", "https://items.example\n", "https://items .example",
        "https://[::1", "http://127.0.0.1.nip.example", "javascript:alert(1)",
    ],
)  # fmt: skip
def test_what_is_no_plain_https_url_is_a_fault(url: str) -> None:
    for name in ("BACKEND_URL", "KV_REST_API_URL"):
        assert list(faults_of({**FULL, name: url})) == [name]


@pytest.mark.parametrize("url", ["http://127.0.0.1:3001", "http://localhost/x", "http://[::1]:9"])
def test_plain_http_will_do_on_loopback_only(url: str) -> None:
    assert faults_of({**FULL, "BACKEND_URL": url}) == {}
    assert faults_of({**FULL, **JWT, "AUTH_JWKS_URL": url}).keys() == {"AUTH_JWKS_URL"}
    develops = {**FULL, **JWT, "AUTH_JWKS_URL": url, "VERCEL_ENV": "development"}
    assert faults_of(develops) == {}


@pytest.mark.parametrize(
    ("keys", "is_good"),
    [
        ("[]", False),
        ("{}", False),
        ("not json", False),
        (json.dumps([KEY]), True),
        (json.dumps([KEY, {**KEY, "sha256": "cd" * 32}]), True),  # one id twice: a rotation
        (json.dumps([KEY, {**KEY, "id": "bob"}]), False),  # one key twice
        (json.dumps([{**KEY, "sha256": "AB" * 32}]), False),
        (json.dumps([{**KEY, "sha256": "ab" * 31}]), False),
        (json.dumps([{**KEY, "scopes": "call:tools"}]), False),
        (json.dumps([{**KEY, "scopes": ["two words"]}]), False),
        (json.dumps([{**KEY, "scopes": []}]), True),
        (json.dumps([{**KEY, "id": ""}]), False),
        (json.dumps([{**KEY, "key": "the-key-itself"}]), False),
        (json.dumps([{**KEY, "expires": "2027-01-01T00:00:00Z"}]), True),
        (json.dumps([{**KEY, "expires": "2027-01-01T00:00:00"}]), False),
        (json.dumps([{**KEY, "expires": "soon"}]), False),
    ],
)
def test_agent_keys_are_checked_one_by_one(keys: str, *, is_good: bool) -> None:
    told = faults_of({**FULL, "AGENT_KEYS": keys})
    assert told.keys() == (set() if is_good else {"AGENT_KEYS"})
    assert "the-key-itself" not in str(told)


@pytest.mark.parametrize(("name", "shortest"), [("STATE_KEY", "é" * 16), ("CRON_SECRET", "s" * 16)])
def test_secrets_have_a_least_length(name: str, shortest: str) -> None:
    assert faults_of({**FULL, name: shortest}) == {}
    assert list(faults_of({**FULL, name: shortest[:-1]})) == [name]


def test_times_that_cannot_fit_are_a_fault() -> None:
    times = {"MAX_DURATION_S": "4", "BACKEND_TIMEOUT_S": "3", "COMMIT_BUDGET_S": "1"}
    assert faults_of({**FULL, **times}) == {}
    assert list(faults_of({**FULL, **times, "COMMIT_BUDGET_S": "1.01"})) == ["BACKEND_TIMEOUT_S"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("UPSTASH_REDIS_REST_URL", "KV_REST_API_URL"),
        ("UPSTASH_REDIS_REST_TOKEN", "KV_REST_API_TOKEN"),
        ("UPSTASH_REDIS_REST_READ_ONLY_TOKEN", "KV_REST_API_READ_ONLY_TOKEN"),
    ],
)
def test_two_names_for_one_thing_must_agree(one: str, other: str) -> None:
    assert faults_of({**FULL, one: FULL[other]}) == {}
    assert list(faults_of({**FULL, one: "https://another.example"})) == [one]


@pytest.mark.parametrize("hosts", ["*", "*.example", "https://a.example", "a.example/x", "a b"])
def test_allowed_hosts_are_names(hosts: str) -> None:
    assert list(faults_of({**FULL, "ALLOWED_HOSTS": f"good.example,{hosts}"})) == ["ALLOWED_HOSTS"]


def test_misconfigured_settings_show_no_value() -> None:
    shown = repr(given({**FULL, "BACKEND_URL": ""}))
    assert not [value for name, value in FULL.items() if name != "VERCEL_ENV" and value in shown]
