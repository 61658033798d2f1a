"""`vercel dev --local` beside the dev services, by the lines that they print; no account."""

import os
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.harness.bundle import tools
from tests.harness.dev_server import dev_server
from tests.harness.servers import free_port
from tests.harness.tree import copy_tree_with_environment
from tests.harness.wire import LEGACY, Mcp

pytestmark = pytest.mark.node
START_S = 90.0
NEW = {"name": "lamp", "quantity": 1}


@contextmanager
def vercel_dev(tree: Path) -> Generator[str]:
    """Run it in a shell that has read the services' lines; give its URL."""
    port = free_port()
    line = (
        f". .venv/bin/activate && . .local/env && exec vercel dev --local --listen 127.0.0.1:{port}"
    )
    log = tree.parent / "vercel-dev.txt"
    with log.open("wb") as out:
        popen = subprocess.Popen(  # noqa: S603  the printed lines, and the README's own command
            ["/bin/sh", "-c", line],
            cwd=tree,
            env=tools(),
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield _answering(f"http://127.0.0.1:{port}", popen, log)
    finally:
        if popen.poll() is None:
            os.killpg(popen.pid, signal.SIGINT)
            popen.wait(20)


def _answering(url: str, popen: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert popen.poll() is None, log.read_text()
        try:
            if httpx.get(f"{url}/healthz", timeout=30).is_success:
                return url
        except httpx.TransportError:
            time.sleep(0.2)
    raise TimeoutError(log.read_text())


async def test_vercel_dev_serves_the_tree_beside_the_dev_services(tmp_path: Path) -> None:
    tree = copy_tree_with_environment(tmp_path / "tree")
    with dev_server(tree, "--services-only") as services, vercel_dev(tree) as url:
        async with httpx.AsyncClient(base_url=url, timeout=30) as http:
            mcp = Mcp(http=http, key=services.key("Write"))
            done = await mcp.settle("create_item", **NEW, idempotency_key="k")
            again = await Mcp(http=http, key=mcp.key, era=LEGACY).settle(
                "create_item", **NEW, idempotency_key="k"
            )
            stream = await http.get("/mcp")
    assert (done["outcome"], done["this_call"]) == ("succeeded", "executed")
    assert again == {**done, "this_call": "replayed"}
    assert stream.status_code == 405
