"""An ASGI app on a loopback port, served by uvicorn in a thread with an event loop of its own.

It serves when the block is entered; thread, loop and sockets are gone when it is left.
"""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

STOP_LIMIT_S = 10.0
_GRACE_S = 2  # for requests still under way; then they are cancelled
_CLOSED = -1  # what a closed socket says of its descriptor


class NotServingError(Exception):
    """The app did not start, or did not stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Where the app answers."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


class _Server(uvicorn.Server):
    """Says when it serves, and stops at once instead of at its next look at a flag."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leave = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self.settled.set()

    async def main_loop(self) -> None:
        await self._leave.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        # Nobody is connected: uvicorn's pause of 0.1 s, for clients to notice, is for nobody.
        for server in self.servers:
            server.close()
        for each in sockets or []:
            each.close()
        await self.lifespan.shutdown()

    def leave(self) -> None:
        # The loop is closed when the server ended by itself.
        with suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._leave.set)

    def run_in_thread(self, listener: socket.socket) -> None:
        try:
            # uvicorn leaves this way when the app's own start failed.
            with suppress(SystemExit):
                self.run(sockets=[listener])
        except OSError:
            if listener.fileno() != _CLOSED:  # else the start was cut short, and nobody waits
                raise
        finally:
            self.settled.set()


@contextmanager
def serve(app: ASGIApp, *, host: str = "127.0.0.1", port: int = 0) -> Generator[Served]:
    """Serve `app` while the block runs.

    Args:    port: 0 lets the system choose.
    Raises:  OSError: the port is taken. NotServingError: the app's own start failed.
    """
    with _listen(host, port) as listener:
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            loop="asyncio",
            log_config=None,
            access_log=False,
            date_header=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        server = _Server(config)
        served = Served(host=host, port=listener.getsockname()[1])
        thread = threading.Thread(
            target=server.run_in_thread, args=(listener,), name=f"serve:{served.port}"
        )
        try:
            thread.start()
            server.settled.wait()
            if not server.started:
                raise NotServingError("the app failed to start")
            yield served
        finally:
            if thread.ident is not None:
                server.settled.wait(STOP_LIMIT_S)  # a start that is cut short must end before
                server.leave()
                thread.join(STOP_LIMIT_S)
        if thread.is_alive():
            raise NotServingError("the app did not stop")


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named: without it a call takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener
