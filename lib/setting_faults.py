"""What makes an environment unusable: every fault by name, none by value. Pure.

Source: DESIGN §3. Unknown or contradictory is refused; a preview can never write to production.
"""

import re
from collections.abc import Iterator
from posixpath import normpath
from urllib.parse import unquote, urlsplit

from pydantic import ValidationError

from lib.settings import LOOPBACK, AgentKey, Settings, host_name

MIN_STATE_KEY_BYTES = 32
MIN_CRON_SECRET_CHARS = 16
REQUIRED = ("backend_url", "backend_read_token")
WRITE_POWER = ("backend_write_token", "upstash_redis_rest_token", "kv_rest_api_token")
SCRATCH = (
    "scratch_backend_url",
    "scratch_backend_write_token",
    "scratch_redis_rest_url",
    "scratch_redis_rest_token",
)
STORE_URLS = ("upstash_redis_rest_url", "kv_rest_api_url")
TWICE_NAMED = (
    STORE_URLS,
    ("upstash_redis_rest_token", "kv_rest_api_token"),
    ("upstash_redis_rest_read_only_token", "kv_rest_api_read_only_token"),
)
JWT = ("auth_issuer", "auth_audience", "auth_jwks_url")
HEADER_SAFE = re.compile(r"[!-~]+")

type Faults = Iterator[tuple[str, str]]


def setting_faults(settings: Settings) -> Faults:
    """Name each faulty field, and what to change about it."""
    yield from _missing(settings)
    yield from _too_powerful(settings) if settings.kind == "preview" else ()
    yield from _contradicting(settings)
    yield from _bad_urls(settings)
    yield from _bad_secrets(settings)
    yield from _bad_keys(settings)
    if any(entry.strip() and not host_name(entry) for entry in settings.allowed_hosts.split(",")):
        yield "allowed_hosts", "holds something that is no host name (no scheme, path or *)"
    if settings.backend_timeout_s + settings.commit_budget_s > settings.max_duration_s:
        yield "backend_timeout_s", "above MAX_DURATION_S together with COMMIT_BUDGET_S"


def _missing(settings: Settings) -> Faults:
    is_preview = settings.kind == "preview"
    for name in REQUIRED if is_preview else (*REQUIRED, "backend_write_token"):
        if getattr(settings, name) is None:
            yield name, "missing"
    if settings.store_url is None:
        yield "kv_rest_api_url", "missing; UPSTASH_REDIS_REST_URL will do too"
    if is_preview and settings.read_only_token is None:
        yield "kv_rest_api_read_only_token", "missing; a preview reads the store, and never writes"
    if not is_preview and settings.read_write_token is None:
        yield "kv_rest_api_token", "missing; UPSTASH_REDIS_REST_TOKEN will do too"
    yield from _missing_authentication(settings)


def _missing_authentication(settings: Settings) -> Faults:
    absent = [name for name in JWT if getattr(settings, name) is None]
    if 0 < len(absent) < len(JWT):
        yield from ((name, "missing beside the other AUTH_ names") for name in absent)
    is_open = len(absent) == len(JWT) and settings.agent_keys is None
    if is_open and settings.kind != "development":
        yield "agent_keys", "missing; nobody could call this server (the AUTH_ names will do too)"


def _too_powerful(settings: Settings) -> Faults:
    for name in WRITE_POWER:
        if getattr(settings, name) is not None:
            yield name, "must not be visible to a preview: remove it from this environment"
    given = [name for name in SCRATCH if getattr(settings, name) is not None]
    for name in SCRATCH if given else ():
        if name not in given:
            yield name, "missing: scratch systems need all four SCRATCH_ names"
    if _is_same_place(settings.scratch_backend_url, settings.backend_url):
        yield "scratch_backend_url", "is BACKEND_URL itself, so it is no scratch system"
    stores = [getattr(settings, name) for name in STORE_URLS]
    if any(_is_same_place(settings.scratch_redis_rest_url, store) for store in stores):
        yield "scratch_redis_rest_url", "is the store itself, so it is no scratch system"


def _is_same_place(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and _place(one) == _place(other)


def _place(url: str) -> tuple[str, int | None, str]:
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:  # not a URL, which _bad_urls says
        return (url, None, "")
    # Every spelling of one place: percent-encoding, dot segments, slashes that say nothing.
    path = normpath("/" + unquote(parts.path).strip("/"))
    host = unquote(parts.hostname or "").lower().rstrip(".")
    return ("localhost" if host in LOOPBACK else host, port, path)


def _contradicting(settings: Settings) -> Faults:
    for one, other in TWICE_NAMED:
        values = {getattr(settings, name) for name in (one, other)} - {None}
        if len(values) > 1:
            yield one, f"says something else than {other.upper()}: remove one of them"


def _is_ignored(name: str, settings: Settings) -> bool:
    return name in SCRATCH and settings.kind != "preview"


def _bad_urls(settings: Settings) -> Faults:
    names = [name for name in type(settings).model_fields if name.endswith(("_url", "_issuer"))]
    for name in names:
        url = getattr(settings, name)
        if url is None or name.startswith("vercel") or _is_ignored(name, settings):
            continue
        may_be_plain = name != "auth_jwks_url" or settings.kind == "development"
        if not _is_url(url, may_be_plain=may_be_plain):
            yield name, "must be an https:// URL, without user, query or fragment"


def _is_url(url: str, *, may_be_plain: bool) -> bool:
    if not HEADER_SAFE.fullmatch(url):  # urlsplit forgives spaces that a client would send
        return False
    try:
        parts = urlsplit(url)
        port, is_local = parts.port, (parts.hostname or "") in LOOPBACK
    except ValueError:
        return False
    if not parts.hostname or port == 0 or "@" in parts.netloc or "?" in url or "#" in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_local and may_be_plain)


def _bad_secrets(settings: Settings) -> Faults:
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if not name.endswith("_token") or not value or _is_ignored(name, settings):
            continue
        if not HEADER_SAFE.fullmatch(value):
            yield name, "has characters that no HTTP header can carry"
    if settings.state_key and len(settings.state_key.encode()) < MIN_STATE_KEY_BYTES:
        yield "state_key", f"shorter than {MIN_STATE_KEY_BYTES} bytes"
    if settings.cron_secret and len(settings.cron_secret) < MIN_CRON_SECRET_CHARS:
        yield "cron_secret", f"shorter than {MIN_CRON_SECRET_CHARS} characters"
    if settings.cron_secret and not HEADER_SAFE.fullmatch(settings.cron_secret):
        yield "cron_secret", "has characters that no HTTP header can carry"


def _bad_keys(settings: Settings) -> Faults:
    try:
        keys = settings.keys
    except ValidationError as fault:
        for error in fault.errors(include_input=False, include_url=False, include_context=False):
            # A name that is not ours may be a key written in the wrong place.
            ours = (
                part
                for part in error["loc"]
                if part in AgentKey.model_fields or isinstance(part, int)
            )
            where = ".".join(str(part) for part in ours)
            yield "agent_keys", f"{where}: {error['msg']}" if where else error["msg"]
        return
    if not keys and settings.agent_keys is not None:
        yield "agent_keys", "an empty list: leave it unset, or add a key"
    digests = [key.sha256 for key in keys]
    if len(set(digests)) < len(digests):
        yield "agent_keys", "the same sha256 twice: one key cannot be two"
