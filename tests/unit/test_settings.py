"""The environment as settings: every name and alias, and what unset means."""

import pytest

from lib.settings import AgentKey, Misconfigured, Settings
from tests.harness.settings import FULL, given

NAMES = {
    "BACKEND_URL", "BACKEND_READ_TOKEN", "BACKEND_WRITE_TOKEN", "UPSTASH_REDIS_REST_URL",
    "UPSTASH_REDIS_REST_TOKEN", "UPSTASH_REDIS_REST_READ_ONLY_TOKEN", "KV_REST_API_URL",
    "KV_REST_API_TOKEN", "KV_REST_API_READ_ONLY_TOKEN", "SCRATCH_BACKEND_URL",
    "SCRATCH_BACKEND_WRITE_TOKEN", "SCRATCH_REDIS_REST_URL", "SCRATCH_REDIS_REST_TOKEN",
    "AGENT_KEYS", "AUTH_ISSUER", "AUTH_AUDIENCE", "AUTH_JWKS_URL", "STATE_KEY", "CRON_SECRET",
    "ALLOWED_HOSTS", "MAX_DURATION_S", "BACKEND_TIMEOUT_S", "COMMIT_BUDGET_S", "KILL_SLACK_S",
    "STORE_TIMEOUT_S", "RATE_LIMIT_PER_MINUTE", "VERCEL", "VERCEL_ENV", "VERCEL_URL",
    "VERCEL_BRANCH_URL", "VERCEL_PROJECT_PRODUCTION_URL", "VERCEL_DEPLOYMENT_ID",
}  # fmt: skip


def good(**changes: str) -> Settings:
    settings = given({**FULL, **changes})
    assert isinstance(settings, Settings), settings
    return settings


def test_the_names_are_the_documented_ones() -> None:
    assert {name.upper() for name in Settings.model_fields} == NAMES


def test_times_have_the_documented_defaults() -> None:
    settings = good()
    assert settings.max_duration_s == 60
    assert (settings.backend_timeout_s, settings.commit_budget_s) == (20, 3)
    assert (settings.kill_slack_s, settings.store_timeout_s) == (5, 1.5)
    assert settings.rate_limit_per_minute is None


def test_small_times_and_fractions_work() -> None:
    settings = good(
        MAX_DURATION_S="4", BACKEND_TIMEOUT_S="2", COMMIT_BUDGET_S="1", KILL_SLACK_S="0.25",
        STORE_TIMEOUT_S="0.05",
    )  # fmt: skip
    assert (settings.max_duration_s, settings.kill_slack_s) == (4, 0.25)
    assert settings.store_timeout_s == 0.05


def test_either_name_of_the_store_will_do() -> None:
    vercels = good()
    upstashs = good(
        KV_REST_API_URL="", KV_REST_API_TOKEN="", KV_REST_API_READ_ONLY_TOKEN="",
        UPSTASH_REDIS_REST_URL=FULL["KV_REST_API_URL"],
        UPSTASH_REDIS_REST_TOKEN=FULL["KV_REST_API_TOKEN"],
        UPSTASH_REDIS_REST_READ_ONLY_TOKEN=FULL["KV_REST_API_READ_ONLY_TOKEN"],
    )  # fmt: skip
    assert vercels.write_store == upstashs.write_store
    assert vercels.read_store == upstashs.read_store
    assert vercels.write_store != vercels.read_store


def test_reading_falls_back_to_the_token_that_writes() -> None:
    settings = good(KV_REST_API_READ_ONLY_TOKEN="")
    assert settings.read_store == settings.write_store


def test_a_slash_at_the_end_of_a_url_changes_nothing() -> None:
    settings = good(BACKEND_URL="https://items.example/v1/")
    assert settings.read_backend is not None
    assert settings.read_backend.url == "https://items.example/v1"


@pytest.mark.parametrize("name", sorted(NAMES - {"VERCEL_ENV"}))
def test_an_empty_string_is_unset(name: str) -> None:
    unset = {key: value for key, value in FULL.items() if key != name}
    assert given(unset) == given({**unset, name: ""})


def test_no_environment_name_means_development() -> None:
    assert good(VERCEL_ENV="").kind == "development"


@pytest.mark.parametrize(
    "name", ["preview", "staging", "Production", "PRODUCTION", "prod", "dev", "test"]
)
def test_any_other_environment_name_is_a_preview(name: str) -> None:
    assert Settings.model_construct(vercel_env=name).kind == "preview"


def test_hosts_are_vercels_yours_and_loopback() -> None:
    settings = good(
        VERCEL_URL="a-b-c.vercel.app", VERCEL_BRANCH_URL="branch.vercel.app",
        VERCEL_PROJECT_PRODUCTION_URL="project.vercel.app",
        ALLOWED_HOSTS="mcp.example.org, Other.Example:8443,,[::2]:80",
    )  # fmt: skip
    assert settings.hosts == {
        "a-b-c.vercel.app", "branch.vercel.app", "project.vercel.app", "mcp.example.org",
        "other.example", "::2", "127.0.0.1", "localhost", "::1",
    }  # fmt: skip


def test_a_vercel_name_that_is_no_host_opens_no_door() -> None:
    assert "" not in Settings.model_construct(vercel_url="https://x/", allowed_hosts="").hosts


def test_keys_are_read_with_their_scopes_and_end() -> None:
    digest = "ab" * 32
    [key] = good(
        AGENT_KEYS=f'[{{"id":"ann","sha256":"{digest}","scopes":["call:tools"],'
        '"expires":"2027-01-01T00:00:00+02:00"}]'
    ).keys
    assert isinstance(key, AgentKey)
    assert (key.id, key.scopes) == ("ann", ["call:tools"])
    assert key.expires is not None
    assert key.expires.isoformat() == "2027-01-01T00:00:00+02:00"


def test_no_representation_shows_a_value() -> None:
    for settings in (good(), given({**FULL, "BACKEND_URL": ""})):
        shown = repr(settings) + str(settings)
        assert isinstance(settings, Settings | Misconfigured)
        assert not [value for name, value in FULL.items() if "_ENV" not in name and value in shown]
