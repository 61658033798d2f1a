"""Malformed HTTP, JSON-RPC and MCP against a real process: no fault, no hang, and it goes on."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.harness.nursery import Nursery
from tests.harness.stack import Stack
from tests.hostile.cases import make
from tests.hostile.run import is_well, run

SEED = 20_261_130
CASES = 300
RAISED = r"^[ |]*([a-z][\w.]*(?:Error|Exception|Disconnect))\b"
# uvicorn with h11: an answer to a request whose body broke off in the middle of a bad chunk.
NOT_OURS = "h11._util.LocalProtocolError"


async def test_hundreds_of_hostile_requests_end_in_time_and_without_a_fault(
    stack: Stack, nursery: Nursery, tmp_path: Path
) -> None:
    path = tmp_path / "output"
    with path.open("wb") as output, nursery.server(stack.env(), output=output) as process:
        report = await run(process.url, seed=SEED, numbers=range(CASES))
        assert await is_well(process.url)
    assert report.failed == []
    assert report.statuses.total() == CASES
    assert {200, 202, 400, 401, 403, 404, 405, 413} <= report.statuses.keys()
    raised = re.findall(RAISED, path.read_text(), re.MULTILINE)
    assert set(raised) <= {NOT_OURS}


def test_a_case_is_the_same_for_the_same_seed_and_number() -> None:
    assert make(1, 7).wire() == make(1, 7).wire()
    assert len({make(SEED, number).wire() for number in range(CASES)}) > 0.95 * CASES


@asynccontextmanager
async def answering(said: bytes | None) -> AsyncGenerator[str]:
    """Serve one answer to everything; None keeps silent for ever."""

    done = asyncio.Event()

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if said is None:
            await done.wait()
        writer.write(said or b"")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}"
        done.set()


async def test_the_judge_sees_a_fault_and_a_page_that_shows_its_insides() -> None:
    for said in (
        b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nTraceback",
    ):
        async with answering(said) as url:
            report = await run(url, seed=1, numbers=range(3))
        assert len(report.failed) == 3


async def test_the_judge_sees_a_hang() -> None:
    async with answering(None) as url:
        report = await run(url, seed=1, numbers=[5], wait_s=1.5)
    assert len(report.failed) == 1
    assert "--seed 1 --only 5" in report.failed[0]
