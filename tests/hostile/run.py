"""Send hostile cases to a server and judge what comes back: an answer in time, and never a fault.

A case fails where the server says 5xx, says nothing for 5 s, or shows its insides.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import httpx

from tests.harness.wire import LEGACY, MODERN, Mcp
from tests.hostile.cases import Case, make

WAIT_S = 5.0
AT_ONCE = 6
STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})")
INSIDES = (b"Traceback", b'File "', b"site-packages", b"Internal Server Error")
MAX_ANSWER = 4 << 20


@dataclass
class Report:
    """What became of the cases. failed: how to repeat each, and what was wrong."""

    statuses: Counter[int] = field(default_factory=Counter[int])
    failed: list[str] = field(default_factory=list[str])


async def run(url: str, *, seed: int, numbers: Iterable[int], wait_s: float = WAIT_S) -> Report:
    """Send the cases of these numbers, several at once."""
    report, gate = Report(), asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with gate:
            case = make(seed, number)
            wrong = await _judged(url, case, report, wait_s)
            if wrong is not None:
                report.failed.append(
                    f"--seed {seed} --only {number} ({'+'.join(case.did)}): {wrong}"
                )

    await asyncio.gather(*(one(number) for number in numbers))
    return report


async def is_well(url: str) -> bool:
    """Tell whether the server still answers correct calls, in both eras."""
    async with httpx.AsyncClient(base_url=url, timeout=WAIT_S) as http:
        told = [await Mcp(http=http, era=era).call("list_items") for era in (MODERN, LEGACY)]
    return all(result["isError"] is False for result in told)


async def _judged(url: str, case: Case, report: Report, wait_s: float) -> str | None:
    try:
        async with asyncio.timeout(wait_s):
            answer = await exchanged(url, case.wire())
    except TimeoutError:
        return f"no answer within {wait_s} s"
    statuses = [int(found) for found in STATUS.findall(answer)]
    report.statuses[statuses[-1] if statuses else 0] += 1
    if any(status >= 500 for status in statuses):
        return f"{statuses}: {answer[:300]!r}"
    shown = [each for each in INSIDES if each in answer]
    return f"shows {shown}: {answer[:300]!r}" if shown else None


async def exchanged(url: str, sent: bytes) -> bytes:
    """Send bytes, say that no more will come, and read to the end."""
    host = httpx.URL(url)
    reader, writer = await asyncio.open_connection(host.host, host.port)
    try:
        writer.write(sent)
        await writer.drain()
        return await _read(reader, writer)
    except ConnectionError:  # the server may hang up on what it will not read
        return b""
    finally:
        writer.close()


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    answer = b""
    while len(answer) < MAX_ANSWER:
        try:
            async with asyncio.timeout(0.3 if answer else 1.0):
                piece = await reader.read(1 << 16)
        except TimeoutError:
            if writer.can_write_eof() and not writer.transport.is_closing() and not answer:
                writer.write_eof()  # it waits for the rest, which never comes
                return answer + await reader.read(MAX_ANSWER)
            return answer
        if not piece:
            break
        answer += piece
        if _is_whole(answer):
            break
    return answer


def _is_whole(answer: bytes) -> bool:
    head, found, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: ([0-9]+)", head, re.IGNORECASE)
    return bool(found) and length is not None and len(body) >= int(length.group(1))
