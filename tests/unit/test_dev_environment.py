"""What the dev server sets and what it leaves to you, as a pure function of both."""

from collections.abc import Mapping

from lib.dev.environment import Systems, environment, read_yours, sample_settings
from lib.dev.kept_secrets import new_secrets
from tests.harness.settings import SCRATCH, faults_of

SECRETS = new_secrets()
SAMPLES = Systems(store_url="http://127.0.0.1:1", items_url="http://127.0.0.1:2")
BACKEND = {
    "BACKEND_URL": "https://backend.example",
    "BACKEND_READ_TOKEN": "reads",
    "BACKEND_WRITE_TOKEN": "writes",
}
STORE = {
    "KV_REST_API_URL": "https://store.example",
    "KV_REST_API_TOKEN": "writes",
    "KV_REST_API_READ_ONLY_TOKEN": "reads",
}


def composed(
    shell: Mapping[str, str], dotenv: Mapping[str, str] | None = None, *, is_preview: bool = False
) -> dict[str, str]:
    yours = read_yours(shell, dotenv or {})
    systems = Systems(
        store_url=None if yours.store_url else SAMPLES.store_url,
        items_url=None if yours.backend_url else SAMPLES.items_url,
    )
    sample = sample_settings(yours, systems, SECRETS, is_preview=is_preview)
    return environment(shell, yours, sample, is_preview=is_preview)


def generated(env: Mapping[str, str]) -> set[str]:
    tokens = {
        SECRETS.backend_read_token,
        SECRETS.backend_write_token,
        SECRETS.store_token,
        SECRETS.store_read_only_token,
    }
    return tokens & set(env.values())


def test_with_nothing_of_yours_everything_is_set_for_both_environments() -> None:
    assert faults_of(composed({})) == {}
    assert faults_of(composed({}, is_preview=True)) == {}


def test_systems_of_yours_are_used_with_your_tokens_and_get_none_of_ours() -> None:
    env = composed(BACKEND | STORE)
    assert env.items() >= (BACKEND | STORE).items()
    assert generated(env) == set()


def test_tokens_without_their_url_never_reach_the_samples() -> None:
    stray = {"BACKEND_WRITE_TOKEN": "x", "UPSTASH_REDIS_REST_TOKEN": "x", "KV_REST_API_TOKEN": "x"}
    env = composed(stray, stray)
    assert "x" not in env.values()
    assert len(generated(env)) == 4


def test_a_preview_sees_no_write_token_of_yours_either() -> None:
    env = composed(STORE, BACKEND, is_preview=True)
    assert faults_of(env) == {}
    assert "writes" not in env.values()


def test_a_preview_on_the_samples_gets_no_write_token_of_theirs() -> None:
    tokens = generated(composed({}, is_preview=True))
    assert tokens == {SECRETS.backend_read_token, SECRETS.store_read_only_token}


def test_your_scratch_systems_reach_a_preview() -> None:
    assert composed(SCRATCH, is_preview=True).items() >= SCRATCH.items()


def test_the_shell_wins_over_the_file_unless_it_is_empty() -> None:
    file = {"MAX_DURATION_S": "10", "STATE_KEY": "s" * 32, "CRON_SECRET": "c" * 16}
    env = composed({"MAX_DURATION_S": "20", "state_key": "t" * 32, "CRON_SECRET": ""}, file)
    assert (env["MAX_DURATION_S"], env["STATE_KEY"], env["CRON_SECRET"]) == (
        "20",
        "t" * 32,
        "c" * 16,
    )
    assert "state_key" not in env


def test_what_vercel_says_about_a_deployment_is_left_out() -> None:
    env = composed({"VERCEL": "1", "VERCEL_ENV": "production", "VERCEL_URL": "a.example"})
    assert not [name for name in env if name.startswith("VERCEL")]


def test_what_is_no_setting_is_handed_on_untouched() -> None:
    around = {"PATH": "/bin", "HTTP_PROXY": ""}
    assert composed(around).items() >= around.items()


def test_agent_keys_that_are_no_list_are_left_for_the_server_to_refuse() -> None:
    for broken in ("{}", "not json"):
        assert "AGENT_KEYS" in faults_of(composed({"AGENT_KEYS": broken}))
