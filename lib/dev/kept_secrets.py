"""The dev server's keys and tokens, made once and kept, so that a client's set-up outlives a stop.

They open nothing but loopback services with sample data; still only their owner may read them.
"""

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from secrets import token_urlsafe

_BYTES = 24  # 32 characters, as many as STATE_KEY needs


class DamagedSecretsError(Exception):
    """The file is not what we wrote; the text is for the person at the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What is generated, each on its own."""

    read_key: str
    write_key: str
    state_key: str
    cron_secret: str
    backend_read_token: str
    backend_write_token: str
    store_token: str
    store_read_only_token: str


def keep_secrets(path: Path) -> Secrets:
    """Read the secrets at `path`, or make them there, readable by their owner alone.

    Raises:  DamagedSecretsError.
    """
    if not path.exists():
        _write(path, new_secrets())
    try:
        kept = json.loads(path.read_text())
        if not all(isinstance(value, str) and value for value in kept.values()):
            raise TypeError("a secret is no text")  # noqa: TRY301 - told below, as any damage
        return Secrets(**kept)
    except (ValueError, TypeError, AttributeError) as fault:
        raise DamagedSecretsError(
            f"{path} is damaged. Remove it for new keys, or begin anew with --fresh."
        ) from fault


def new_secrets() -> Secrets:
    """Make secrets that nobody had before."""
    made = {field.name: token_urlsafe(_BYTES) for field in fields(Secrets)}
    keys = {name: f"{name.partition('_')[0]}-{made[name]}" for name in ("read_key", "write_key")}
    return Secrets(**made | keys)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


def _write(path: Path, secrets: Secrets) -> None:
    write_private(path, json.dumps(asdict(secrets), indent=2) + "\n")
