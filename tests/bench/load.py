"""Concurrent calls over sockets: what a call takes, and the CPU of the server's process."""

import asyncio
import time
from pathlib import Path
from typing import Any

from tests.bench.asgi import body_of, headers_of
from tests.harness.servers import Process


def query_request(host: str) -> bytes:
    """Write one call of the query, on a connection that stays open."""
    body = body_of("tools/call", name="get_item", arguments={"item_id": "a1"})
    headers = {**headers_of("tools/call", body, "get_item"), "host": host}
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def loaded(server: Process, *, at_once: int, calls: int) -> dict[str, Any]:
    """Make `calls` calls over `at_once` connections; ms per call, and the server's CPU ms."""
    host = server.url.removeprefix("http://")
    before = _cpu_ms(server.popen.pid)
    began = time.perf_counter()
    taken = asyncio.run(_all(host, at_once, max(1, calls // at_once)))
    seconds = time.perf_counter() - began
    cpu_ms = _cpu_ms(server.popen.pid) - before
    return {
        "at_once": at_once,
        "calls": len(taken),
        "per_second": round(len(taken) / seconds),
        "median_ms": round(taken[len(taken) // 2], 2),
        "p95_ms": round(taken[int(len(taken) * 0.95)], 2),
        "cpu_ms": round(cpu_ms / len(taken), 3),
    }


async def _all(host: str, at_once: int, each: int) -> list[float]:
    request = query_request(host)
    taken = await asyncio.gather(*(_one(host, request, each) for _ in range(at_once)))
    return sorted(ms for connection in taken for ms in connection)


async def _one(host: str, request: bytes, calls: int) -> list[float]:
    name, _, port = host.partition(":")
    reader, writer = await asyncio.open_connection(name, int(port))
    taken: list[float] = []
    for _ in range(calls):
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        length = next(line for line in head.lower().split(b"\r\n") if b"content-length" in line)
        await reader.readexactly(int(length.split(b":")[1]))
        taken.append(1000 * (time.perf_counter() - began))
    writer.close()
    await writer.wait_closed()
    return taken


def _cpu_ms(pid: int) -> float:
    # Nanoseconds on a CPU, of the one thread that serves.
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6
