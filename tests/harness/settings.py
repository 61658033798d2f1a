"""A complete environment, and settings made of it without touching the process's own."""

from collections.abc import Mapping

from lib.settings import Misconfigured, Settings
from tests.harness.servers import settings_of
from tests.harness.stack import CRON_SECRET, STATE_KEY, agent_keys

FULL = {
    "VERCEL_ENV": "production",
    "BACKEND_URL": "https://items.example",
    "BACKEND_READ_TOKEN": "a-backend-token-that-reads",
    "BACKEND_WRITE_TOKEN": "a-backend-token-that-writes",
    "KV_REST_API_URL": "https://store.example",
    "KV_REST_API_TOKEN": "a-store-token-that-writes",
    "KV_REST_API_READ_ONLY_TOKEN": "a-store-token-that-reads",
    "AGENT_KEYS": agent_keys(),
    "STATE_KEY": STATE_KEY,
    "CRON_SECRET": CRON_SECRET,
}
POWERFUL = ("BACKEND_WRITE_TOKEN", "KV_REST_API_TOKEN")
PREVIEW = {
    **{name: value for name, value in FULL.items() if name not in POWERFUL},
    "VERCEL_ENV": "preview",
}
SCRATCH = {
    "SCRATCH_BACKEND_URL": "https://scratch-items.example",
    "SCRATCH_BACKEND_WRITE_TOKEN": "a-scratch-backend-token",
    "SCRATCH_REDIS_REST_URL": "https://scratch-store.example",
    "SCRATCH_REDIS_REST_TOKEN": "a-scratch-store-token",
}


def given(env: Mapping[str, str]) -> Settings | Misconfigured:
    """Check an environment; "" unsets a name, as it does in a real one."""
    return settings_of({name: value for name, value in env.items() if value})


def faults_of(env: Mapping[str, str]) -> dict[str, str]:
    """Name what is wrong, and how; nothing where all is well."""
    settings = given(env)
    if isinstance(settings, Settings):
        return {}
    return {fault.variable: fault.problem for fault in settings.faults}
