"""What an operator's shell reaches: the settings as the server reads them, and the store.

A command needs only the names it uses: `list` works where the read-only token is all there is.
"""

import time
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from upstash_redis.errors import UpstashError

from lib.backend import connect
from lib.machinery.builtins import builtin_queries
from lib.machinery.catalogue import Catalogue, catalogue_of
from lib.machinery.deployment import open_store
from lib.machinery.runner.deadline import Clock
from lib.machinery.runner.store import Store, StoreSilentError
from lib.ops.answer import CannotError
from lib.settings import Address, Misconfigured, SettingFault, Settings, read_settings
from lib.tools import catalogue

CLOCK = Clock(steady=time.monotonic, wall=lambda: datetime.now(UTC).timestamp())


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The settings of this shell, with what is wrong with them."""

    settings: Settings
    faults: tuple[SettingFault, ...] = ()

    def faults_of(self, address: Address) -> list[str]:
        """Name the faulty variables that an address was made of."""
        used = [
            name.upper()
            for name in type(self.settings).model_fields
            if str(getattr(self.settings, name)).rstrip("/") == address.url
            or getattr(self.settings, name) == address.token
        ]
        return [fault.variable for fault in self.faults if fault.variable in used]


def reached() -> Reached:
    """Read the environment, and keep its faults for those whom they concern."""
    match read_settings():
        case Misconfigured(settings, faults):
            return Reached(settings=settings, faults=faults)
        case settings:
            return Reached(settings=settings)


def offered() -> Catalogue:
    """Collect the tools as the deployment does, without any credential.

    Raises: DeclarationError: a tool contradicts itself.
    """
    return catalogue_of(catalogue(connect()), builtin_queries())


def opened(here: Reached, address: Address) -> AbstractAsyncContextManager[Store]:
    """Reach the records of this environment with one credential, as the deployment does."""
    return asynccontextmanager(open_store)(here.settings, address, CLOCK.wall)


def reading_address(here: Reached) -> Address:
    """Find the least power that can look at records.

    Raises: CannotError: a name is missing or faulty.
    """
    return _usable(here, here.settings.read_store, "KV_REST_API_READ_ONLY_TOKEN")


def writing_address(here: Reached) -> Address:
    """Find the power to change records.

    Raises: CannotError: this is a preview without a scratch store, or a name is missing or faulty.
    """
    if here.settings.kind == "preview" and here.settings.write_store is None:
        environment = here.settings.vercel_env
        raise CannotError(
            "preview", f"This is a preview ({environment}): it settles nothing but scratch records."
        )
    return _usable(here, here.settings.write_store, "KV_REST_API_TOKEN")


def _usable(here: Reached, address: Address | None, token: str) -> Address:
    if address is None:
        raise CannotError("misconfigured", f"Set KV_REST_API_URL and {token} (see .env.example).")
    faulty = here.faults_of(address)
    if faulty:
        raise CannotError("misconfigured", f"Faulty: {', '.join(faulty)}. `doctor` says more.")
    return address


def reason_of(silence: StoreSilentError) -> str:
    """Name what stood behind a silence: the store's own code, or the kind of exception."""
    cause = silence.__cause__
    if isinstance(cause, UpstashError):
        return str(cause).partition(" ")[0] or "error"
    return type(cause).__name__
