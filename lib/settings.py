"""The environment, read once: every fault is named together, and no value is ever shown.

Add a name of yours to `Settings` and to `.env.example`, and to `REQUIRED` in
`lib/setting_faults.py` where it must be there.
Source: DESIGN §3. An empty string counts as unset; `.env` is read only off Vercel, because a
bundle may carry a stray one.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from lib.contract import Scope

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
HOST = re.compile(r"(\[[0-9a-f:]+\]|[a-z0-9.-]+)(:[0-9]+)?", re.IGNORECASE)


class AgentKey(BaseModel):
    """One entry of AGENT_KEYS; the key itself is never stored, only its digest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[!-~]{1,128}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    scopes: list[Annotated[Scope, Field(pattern=r"^[!#-\[\]-~]{1,128}$")]]
    expires: AwareDatetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A system reached over HTTP, and the bearer token for it."""

    url: str
    token: str


class Settings(BaseSettings):
    """Every name this server reads. The first seven, which say where it runs, always count."""

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore")

    vercel: str | None = None
    vercel_env: str = "development"
    vercel_url: str | None = None
    vercel_branch_url: str | None = None
    vercel_project_production_url: str | None = None
    vercel_deployment_id: str | None = None
    allowed_hosts: str = ""
    backend_url: str | None = None
    backend_read_token: str | None = None
    backend_write_token: str | None = None
    upstash_redis_rest_url: str | None = None
    upstash_redis_rest_token: str | None = None
    upstash_redis_rest_read_only_token: str | None = None
    kv_rest_api_url: str | None = None
    kv_rest_api_token: str | None = None
    kv_rest_api_read_only_token: str | None = None
    scratch_backend_url: str | None = None
    scratch_backend_write_token: str | None = None
    scratch_redis_rest_url: str | None = None
    scratch_redis_rest_token: str | None = None
    agent_keys: str | None = None
    auth_issuer: str | None = None
    auth_audience: str | None = None
    auth_jwks_url: str | None = None
    state_key: str | None = None
    cron_secret: str | None = None
    max_duration_s: Seconds = 60.0
    backend_timeout_s: Seconds = 20.0
    commit_budget_s: Seconds = 3.0
    kill_slack_s: Seconds = 5.0
    store_timeout_s: Seconds = 1.5
    rate_limit_per_minute: Annotated[int, Field(gt=0)] | None = None

    def __repr_args__(self) -> Iterator[tuple[str | None, object]]:
        """Show no value: a settings object may end up in a log."""
        yield None, self.vercel_env

    @property
    def kind(self) -> Literal["production", "preview", "development"]:
        """Anything that is neither production nor development is a preview."""
        match self.vercel_env:
            case "production" | "development" as kind:
                return kind
            case _:
                return "preview"

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The host names to answer to, without ports: Vercel's, yours, and loopback."""
        names = (self.vercel_url, self.vercel_branch_url, self.vercel_project_production_url)
        own = [*(name for name in names if name), *self.allowed_hosts.split(",")]
        # What is no host name reads as "", and so does a Host header that is none.
        return LOOPBACK | {host_name(entry) for entry in own} - {""}

    @cached_property
    def keys(self) -> tuple[AgentKey, ...]:
        """The agent keys; raises ValidationError where AGENT_KEYS is not a list of them."""
        return tuple(_key_list().validate_json(self.agent_keys or "[]", strict=True))

    @property
    def store_url(self) -> str | None:
        """The store, by either name."""
        return self.upstash_redis_rest_url or self.kv_rest_api_url

    @property
    def read_write_token(self) -> str | None:
        """The store's read-write token, by either name."""
        return self.upstash_redis_rest_token or self.kv_rest_api_token

    @property
    def read_only_token(self) -> str | None:
        """The store's read-only token, by either name."""
        return self.kv_rest_api_read_only_token or self.upstash_redis_rest_read_only_token

    @property
    def read_backend(self) -> Address | None:
        """The backend as queries see it."""
        return _address(self.backend_url, self.backend_read_token)

    @property
    def write_backend(self) -> Address | None:
        """The backend as commands see it; a preview has a scratch one, or none."""
        if self.kind == "preview":
            return _address(self.scratch_backend_url, self.scratch_backend_write_token)
        return _address(self.backend_url, self.backend_write_token)

    @property
    def write_store(self) -> Address | None:
        """The store of this deployment's records; a preview has a scratch one, or none."""
        if self.kind == "preview":
            return _address(self.scratch_redis_rest_url, self.scratch_redis_rest_token)
        return _address(self.store_url, self.read_write_token)

    @property
    def read_store(self) -> Address | None:
        """Where `get_operation` reads: a preview's own records, else with the least power."""
        if self.kind == "preview" and self.write_store is not None:
            return self.write_store
        return _address(self.store_url, self.read_only_token) or self.write_store


@dataclass(frozen=True, slots=True)
class SettingFault:
    """One thing to change: the variable's name, and what is wrong with it, never its value."""

    variable: str
    problem: str


@dataclass(frozen=True, slots=True)
class Misconfigured:
    """A deployment that must refuse everything, and why."""

    settings: Settings
    faults: tuple[SettingFault, ...]


def read_settings() -> Settings | Misconfigured:
    """Read the environment, and name everything that is wrong with it together."""
    env_file = None if os.environ.get("VERCEL") else ".env"
    settings, misread = _read(env_file)
    return checked(settings, misread)


def checked(
    settings: Settings, misread: Sequence[tuple[str, str]] = ()
) -> Settings | Misconfigured:
    """Refuse settings that contradict themselves. misread: names and problems found before."""
    from lib.setting_faults import setting_faults  # which knows this page, so not at its top

    named = (*misread, *setting_faults(settings))
    faults = tuple(SettingFault(name.upper(), problem) for name, problem in named)
    return Misconfigured(settings, faults) if faults else settings


def _read(env_file: str | None) -> tuple[Settings, list[tuple[str, str]]]:
    # pyright knows the fields only; `_env_file` is a documented argument of BaseSettings.
    try:
        return Settings(_env_file=env_file), []  # pyright: ignore[reportCallIssue]
    except ValidationError as fault:
        errors = fault.errors(include_input=False, include_url=False)
        misread = {str(error["loc"][0]): error["msg"] for error in errors}
        defaults = {name: Settings.model_fields[name].default for name in misread}
        retried = Settings(_env_file=env_file, **defaults)  # pyright: ignore[reportCallIssue]
        return retried, [*misread.items()]


@cache
def _key_list() -> TypeAdapter[list[AgentKey]]:
    return TypeAdapter(list[AgentKey])


def host_name(entry: str) -> str:
    """Tell the host of `host` or `host:port`, in lower case and without brackets."""
    found = HOST.fullmatch(entry.strip())
    return "" if found is None else found.group(1).strip("[]").lower()


def _address(url: str | None, token: str | None) -> Address | None:
    return None if url is None or token is None else Address(url=url.rstrip("/"), token=token)
