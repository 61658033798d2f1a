"""The dev server: everything a deployment needs, on this machine, until it is told to stop."""

import http.client
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from socket import socket
from typing import Any, NoReturn

from dotenv import dotenv_values
from rich.console import Console

from lib.dev.data_lock import EngineStartError, lock_data
from lib.dev.environment import environment, read_yours, sample_settings, shell_lines
from lib.dev.kept_secrets import DamagedSecretsError, keep_secrets, write_private
from lib.dev.ports import HOST, PortTakenError, listen
from lib.dev.reload import keep_running
from lib.dev.server_process import ROOT, start_server
from lib.dev.services import SECRETS, SHELL_LINES, STORE, remove_data, sample_systems
from lib.dev.words import Told, note, tell
from lib.settings import SettingFault

_ASK_LIMIT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for. port: 0 for any free one."""

    port: int
    data: Path
    is_fresh: bool
    is_preview: bool
    is_services_only: bool


def run(options: Options, shell: Mapping[str, str]) -> int:
    """Run until Stop is raised; the exit status, if it comes to one."""
    try:
        with ExitStack() as running:
            _hold_data(options.data, running)
            listener = None
            if not options.is_services_only:
                listener = running.enter_context(listen(options.port))
            if options.is_fresh:
                _forget(options.data)
            _run(options, shell, listener, running)
    except (EngineStartError, PortTakenError, DamagedSecretsError) as refusal:
        print(refusal, file=sys.stderr)
        return 1


def _hold_data(data: Path, running: ExitStack) -> None:
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    running.callback(os.close, lock_data(data))


def _forget(data: Path) -> None:
    store = data / STORE
    store.mkdir(exist_ok=True)
    # The engine of an instance that was killed may still be writing its last words.
    lock = lock_data(store)
    try:
        remove_data(data)
    finally:
        os.close(lock)


def _run(
    options: Options, shell: Mapping[str, str], listener: socket | None, running: ExitStack
) -> NoReturn:
    yours = read_yours(shell, dotenv_values(ROOT / ".env"))
    secrets = keep_secrets(options.data / SECRETS)
    lacking = sample_systems(
        options.data,
        secrets,
        has_store=yours.store_url is None,
        has_items=yours.backend_url is None,
    )
    systems = running.enter_context(lacking)
    is_preview = options.is_preview
    told = Told(
        secrets=secrets, systems=systems, yours=yours, data=options.data, is_preview=is_preview
    )
    sample = sample_settings(yours, systems, secrets, is_preview=is_preview)
    if listener is None:
        _wait_beside(told, shell_lines(sample, is_preview=is_preview))
    _serve(listener, environment(shell, yours, sample, is_preview=is_preview), told)


def _wait_beside(told: Told, lines: str) -> NoReturn:
    file = told.data / SHELL_LINES
    write_private(file, lines)
    tell(Console(), told, lines)
    try:
        while True:
            signal.pause()
    finally:
        file.unlink(missing_ok=True)  # the ports in it are somebody else's from now on


def _serve(listener: socket, env: Mapping[str, str], told: Told) -> NoReturn:
    port: int = listener.getsockname()[1]
    notes = Console(stderr=True)

    def greet(*, is_ready: bool) -> None:
        faults = _faults(port) if is_ready else ()
        tell(Console(), replace(told, url=f"http://{HOST}:{port}", faults=faults))

    keep_running(lambda: start_server(listener, env), greet, lambda text: note(notes, text))


def _faults(port: int) -> tuple[SettingFault, ...]:
    """Ask the server what it lacks."""
    server = http.client.HTTPConnection(HOST, port, timeout=_ASK_LIMIT_S)
    try:
        if _asked(server, "GET", "/healthz").get("configured", True):
            return ()
        faults = _asked(server, "POST", "/mcp")["error"]["faults"]
        return tuple(SettingFault(**fault) for fault in faults)
    except (OSError, ValueError, KeyError, http.client.HTTPException):
        return ()  # an app of yours that answers otherwise
    finally:
        server.close()


def _asked(server: http.client.HTTPConnection, method: str, path: str) -> dict[str, Any]:
    server.request(method, path)
    return json.loads(server.getresponse().read())
