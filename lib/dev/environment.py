"""What the dev server sets for the server it runs, and what of yours it leaves alone. Pure.

A system that you name by its URL is yours, together with its tokens; otherwise it is the sample,
with generated ones. So no generated token goes to a system of yours, and no token of yours to the
sample. Your agent keys are kept beside the printed two; any other setting of yours wins.
Source: DESIGN §3, the columns `development` and `preview`.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from lib.dev.kept_secrets import Secrets
from lib.settings import Settings

_BACKEND = frozenset({"BACKEND_URL", "BACKEND_READ_TOKEN", "BACKEND_WRITE_TOKEN"})
_STORE_URLS = ("UPSTASH_REDIS_REST_URL", "KV_REST_API_URL")
_STORE = frozenset(
    {
        *_STORE_URLS,
        "UPSTASH_REDIS_REST_TOKEN",
        "UPSTASH_REDIS_REST_READ_ONLY_TOKEN",
        "KV_REST_API_TOKEN",
        "KV_REST_API_READ_ONLY_TOKEN",
    }
)
_WRITE_POWER = ("BACKEND_WRITE_TOKEN", "KV_REST_API_TOKEN", "UPSTASH_REDIS_REST_TOKEN")
_READS, _WRITES = "call:tools", "call:write_tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Systems:
    """Where the sample systems listen; None for one that is yours."""

    store_url: str | None
    items_url: str | None


@dataclass(frozen=True, slots=True)
class Yours:
    """The settings that a person brings along, by their names in upper case."""

    settings: Mapping[str, str]

    @property
    def backend_url(self) -> str | None:
        """Your own backend."""
        return self.settings.get("BACKEND_URL")

    @property
    def store_url(self) -> str | None:
        """Your own store, by either name."""
        return next((self.settings[name] for name in _STORE_URLS if name in self.settings), None)


def read_yours(shell: Mapping[str, str], dotenv: Mapping[str, str | None]) -> Yours:
    """Find a person's settings: the shell before `.env`; what is empty counts as unset.

    What Vercel sets about a deployment is left out, because this is none.
    """
    found: dict[str, str] = {}
    for source in (dotenv, shell):
        given = {name.upper(): value for name, value in source.items() if value}
        found |= {name: value for name, value in given.items() if _is_setting(name)}
    return Yours({name: value for name, value in found.items() if not name.startswith("VERCEL")})


def sample_settings(
    yours: Yours, systems: Systems, secrets: Secrets, *, is_preview: bool
) -> dict[str, str]:
    """Name what the sample systems, and the server before them, need to be set."""
    sample: dict[str, str] = {"VERCEL_ENV": "preview"} if is_preview else {}
    if systems.items_url is not None:
        sample |= {
            "BACKEND_URL": systems.items_url,
            "BACKEND_READ_TOKEN": secrets.backend_read_token,
            "BACKEND_WRITE_TOKEN": secrets.backend_write_token,
        }
    if systems.store_url is not None:
        # Of the two families, the names that win over the other, which `.env` may still hold.
        sample |= {
            "UPSTASH_REDIS_REST_URL": systems.store_url,
            "UPSTASH_REDIS_REST_TOKEN": secrets.store_token,
            "KV_REST_API_READ_ONLY_TOKEN": secrets.store_read_only_token,
        }
    sample["AGENT_KEYS"] = _agent_keys(yours.settings.get("AGENT_KEYS"), secrets)
    sample["STATE_KEY"] = yours.settings.get("STATE_KEY", secrets.state_key)
    sample["CRON_SECRET"] = yours.settings.get("CRON_SECRET", secrets.cron_secret)
    return _without_write_power(sample) if is_preview else sample


def environment(
    shell: Mapping[str, str], yours: Yours, sample: Mapping[str, str], *, is_preview: bool
) -> dict[str, str]:
    """Compose the whole environment of a server process."""
    around = {name: value for name, value in shell.items() if not _is_setting(name.upper())}
    replaced = (_BACKEND if "BACKEND_URL" in sample else set[str]()) | (
        _STORE if "UPSTASH_REDIS_REST_URL" in sample else set[str]()
    )
    kept = {name: value for name, value in yours.settings.items() if name not in replaced}
    if is_preview:
        # As on Vercel, where `.env` is not read either: it may hold what a preview must not see.
        return {**around, **_without_write_power(kept), **sample, "VERCEL": "1"}
    return {**around, **kept, **sample}


def shell_lines(sample: Mapping[str, str], *, is_preview: bool) -> str:
    """Write the settings as lines for a POSIX shell."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in sample.items()]
    if is_preview:
        lines.insert(0, f"unset {' '.join(_WRITE_POWER)}")
    return "\n".join(lines) + "\n"


def _is_setting(name: str) -> bool:
    return name.lower() in Settings.model_fields


def _without_write_power(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name not in _WRITE_POWER}


def _agent_keys(yours: str | None, secrets: Secrets) -> str:
    """Write AGENT_KEYS; one of yours that is no list stays as it is, for the server to refuse."""
    sample = [
        _entry("dev-reader", secrets.read_key, [_READS]),
        _entry("dev-writer", secrets.write_key, [_READS, _WRITES]),
    ]
    try:
        kept = json.loads(yours or "[]")
    except ValueError:
        kept = None
    if not isinstance(kept, list):
        return yours or ""
    return json.dumps([*kept, *sample], separators=(",", ":"))


def _entry(name: str, key: str, scopes: list[str]) -> dict[str, object]:
    digest = hashlib.sha256(key.encode()).hexdigest()
    return {"id": name, "sha256": digest, "scopes": scopes}
