"""Where the demo plays: real systems, a real MCP client, and a server process that really dies.

The kill is bound to the moment: the items service calls us on a thread of its own when the write is
committed and its answer is not out, and goes on only when the process is gone.
"""

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket

import httpx
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from lib.dev.demo_verdict import Answer, Broken, Json
from lib.dev.environment import Yours, environment, sample_settings
from lib.dev.items_work import Written
from lib.dev.kept_secrets import Secrets, new_secrets
from lib.dev.ports import HOST, listen
from lib.dev.server_process import ServerProcess, start_server
from lib.dev.services import sample_systems

ERA = "2026-07-28"
CALL_LIMIT_S = 10.0
# Of a function with 4 s to live, so that a dead one's lease ends after 5 s and not after 65.
SMALL_TIMES = {
    "MAX_DURATION_S": "4",
    "BACKEND_TIMEOUT_S": "2",
    "COMMIT_BUDGET_S": "1",
    "KILL_SLACK_S": "1",
}


class NotStartedError(Exception):
    """A server process did not come up."""


@dataclass(slots=True)
class Aim:
    """The process that the next write kills, if there is one."""

    at: ServerProcess | None = None

    def fire(self, _: Written) -> None:
        """Kill the process, and return when it is gone."""
        if self.at is not None:
            victim, self.at = self.at, None
            victim.kill()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What both servers of the demo share."""

    secrets: Secrets
    items_url: str
    env: Mapping[str, str]
    aim: Aim = field(default_factory=Aim)


@dataclass(slots=True)
class Stage:
    """One server that dies and comes again, with its client and its backend."""

    scene: Scene
    target: str
    listener: socket
    server: ServerProcess = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start a process on the stage's address, which stays the same."""
        self.server = start_server(
            self.listener, self.scene.env, target=self.target, loudness="quiet"
        )

    async def warm(self) -> None:
        """Wait until the server serves, and let it load what a call needs before time counts."""
        if not self.server.wait_ready():
            raise NotStartedError(f"{self.target} did not start (status {self.server.status})")
        async with self._client() as client:
            offered = {tool.name for tool in (await client.list_tools()).tools}
            if "get_operation" in offered:
                await client.call_tool("get_operation", {"idempotency_key": "none yet"})

    def aim(self) -> ServerProcess:
        """Let the next write of the backend kill the server; gives the one that will die."""
        self.scene.aim.at = self.server
        return self.server

    async def call(self, tool: str, **arguments: str | int) -> Answer:
        """Call a tool: its structured answer, or what the client sees of a broken connection."""
        answer: Answer
        try:
            async with self._client() as client:
                answer = (await client.call_tool(tool, arguments)).structured_content or {}
        except* httpx2.TransportError as faults:
            answer = Broken(type(faults.exceptions[0]).__name__)
        return answer

    async def items(self, name: str) -> list[Json]:
        """Ask the backend itself which items have this name."""
        headers = {"Authorization": f"Bearer {self.scene.secrets.backend_read_token}"}
        async with httpx.AsyncClient(base_url=self.scene.items_url, headers=headers) as backend:
            return (await backend.get("/items", params={"text": name})).json()["items"]

    def close(self) -> None:
        """End the process."""
        self.server.kill()

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[Client]:
        headers = {"Authorization": f"Bearer {self.scene.secrets.write_key}"}
        url = f"http://{HOST}:{self.listener.getsockname()[1]}/mcp"
        async with (
            httpx2.AsyncClient(headers=headers, timeout=CALL_LIMIT_S) as http,
            Client(streamable_http_client(url, http_client=http), mode=ERA) as client,
        ):
            yield client


@contextmanager
def stages(data: Path, shell: Mapping[str, str], *targets: str) -> Generator[list[Stage]]:
    """Start one server per target, before the same systems; all are gone after the block."""
    secrets, aim, yours = new_secrets(), Aim(), Yours({})
    with ExitStack() as running:
        systems = running.enter_context(sample_systems(data, secrets, on_written=aim.fire))
        sample = sample_settings(yours, systems, secrets, is_preview=False)
        env = environment(shell, yours, sample, is_preview=False) | SMALL_TIMES
        # Without this the server would read `.env` too, and play with systems that are yours.
        env["VERCEL"] = "1"
        scene = Scene(secrets=secrets, items_url=sample["BACKEND_URL"], env=env, aim=aim)
        opened: list[Stage] = []
        for target in targets:
            listener = running.enter_context(listen(0))
            opened.append(Stage(scene, target, listener))
            running.callback(opened[-1].close)
        yield opened
