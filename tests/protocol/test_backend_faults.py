"""What httpx's exceptions and broken connections prove to every call: PROTOCOL §6, first rows."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

import httpx
import pytest
import respx

from lib.backend.items import Items
from lib.backend.wire import MAY_HAVE_ARRIVED, NEVER_SENT
from lib.contract import Call
from lib.settings import Address
from tests.protocol.backend_calls import (
    ANN,
    ASK,
    COMMAND,
    COMMANDS,
    EVERY,
    QUERIES,
    REFERENCE,
    Acts,
    each,
    items_at,
    proof_of,
    proofs,
)

type Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

LOST = ("BackendSilentError", "connection_lost", None)
OCCURRED = ("OccurredError", "answer_unreadable", None)
UNREACHABLE = ("NotExecutedError", "unreachable", None)
HEAD = b"HTTP/1.1 201 Created\r\nContent-Length: 9900\r\n\r\n"
ALL_OF_HTTPX = {name: getattr(httpx, name) for name in httpx.__all__}
EXCEPTIONS: dict[str, type[Exception]] = {
    name: kind
    for name, kind in ALL_OF_HTTPX.items()
    if isinstance(kind, type) and issubclass(kind, Exception)
}


def raised(kind: type[Exception]) -> Exception:
    """Make one without its constructor, which differs from kind to kind."""
    return kind.__new__(kind)


def test_every_exception_that_httpx_raises_while_sending_is_mapped() -> None:
    sending = {kind for kind in EXCEPTIONS.values() if issubclass(kind, httpx.RequestError)}
    families = {base for kind in sending for base in kind.__mro__[1:]}
    exact = {kind.__name__ for kind in sending - families} | {"InvalidURL"}
    assert exact == NEVER_SENT.keys() | MAY_HAVE_ARRIVED.keys()
    assert not NEVER_SENT.keys() & MAY_HAVE_ARRIVED.keys()


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_proves_no_more_than_its_row_says(name: str) -> None:
    silent = ("BackendSilentError", MAY_HAVE_ARRIVED.get(name, "unclear"), None)
    told = ("NotExecutedError", NEVER_SENT[name], None) if name in NEVER_SENT else silent
    assert proofs(EVERY, [raised(EXCEPTIONS[name])]) == each(EVERY, told)


@pytest.mark.parametrize("name", NEVER_SENT)
def test_a_kind_of_exception_that_httpx_adds_later_proves_nothing(name: str) -> None:
    later = type("LaterError", (EXCEPTIONS[name],), {})
    assert proofs(EVERY, [raised(later)]) == each(EVERY, ("BackendSilentError", "unclear", None))


async def listen(talk: Talk) -> tuple[asyncio.Server, str]:
    """Serve one exchange per connection: the request's head and what it announces, then `talk`."""

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        announced = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(announced or b"0"))
        try:
            await talk(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def talked(acts: Acts, talk: Talk) -> dict[str, list[object]]:
    async def run() -> dict[str, list[object]]:
        server, url = await listen(talk)
        async with server:
            items = items_at(url)
            return {name: [await proof_of(act(items))] for name, act in acts.items()}

    return asyncio.run(run())


def says(data: bytes, *, is_reset: bool = False) -> Talk:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if is_reset:
            writer.transport.abort()

    return talk


@pytest.mark.parametrize("is_reset", [False, True])
@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 20", b"HTTP/1.1 201 Created\r\nX: ", b"%PDF\r\n"])
def test_a_connection_that_ends_before_the_head_of_an_answer_proves_nothing(
    data: bytes, *, is_reset: bool
) -> None:
    assert talked(EVERY, says(data, is_reset=is_reset)) == each(EVERY, LOST)


@pytest.mark.parametrize(
    "data",
    [
        HEAD,
        HEAD + b'{"id":"i1","name"',
        HEAD.replace(b"9900", b"3").replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\nabc"),
        HEAD.replace(b"Content-Length: 9900", b"Transfer-Encoding: chunked") + b"zz\r\n",
    ],
)
def test_a_success_whose_body_breaks_off_occurred(data: bytes) -> None:
    assert talked(COMMANDS, says(data)) == each(COMMANDS, OCCURRED)


def test_a_refusal_whose_body_breaks_off_is_one_except_a_409() -> None:
    for status, told in (
        (b"404 Not Found", ("RefusedError", "refused", None)),
        (b"409 Conflict", ("BackendSilentError", "unclear", None)),
    ):
        half = HEAD.replace(b"201 Created", status) + b'{"error":{"code":"not_found"'
        assert talked(EVERY, says(half)) == each(EVERY, told)


def test_a_backend_that_is_not_there_or_speaks_no_tls_was_sent_nothing() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready\r\n")
        writer.close()

    async def run() -> list[object]:
        async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
            address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            broken = items_at(f"https://{address}")
            told = [await proof_of(act(broken)) for act in EVERY.values()]
        gone = items_at(f"http://{address}")
        return told + [await proof_of(act(gone)) for act in EVERY.values()]

    assert asyncio.run(run()) == [UNREACHABLE] * 2 * len(EVERY)


@pytest.mark.parametrize(
    "url", ["http://a\nb", "http://a:b", "gopher://items.test", "items.test", ""]
)
def test_an_address_that_cannot_be_written_down_was_sent_nothing(url: str) -> None:
    not_sent = ("NotExecutedError", "not_sent", None)
    told = {name: [asyncio.run(_one(act, url))] for name, act in EVERY.items()}
    assert told == each(EVERY, not_sent)


async def _one(act: Callable[[Items], Awaitable[object]], url: str) -> object:
    return await proof_of(act(items_at(url)))


@pytest.mark.parametrize("token", [None, "", "t\n", "t ", "t\x00", "t\N{DEGREE SIGN}"])
def test_a_call_without_a_usable_credential_is_refused_before_it_is_sent(token: str | None) -> None:
    bad = None if token is None else Address(url="http://items.test", token=token)
    good = Address(url="http://items.test", token="t")

    async def run() -> list[object]:
        reader, writer = Items(read=good, write=bad), Items(read=bad, write=good)
        told = [await proof_of(act(reader)) for act in {**COMMANDS, **ASK}.values()]
        return told + [await proof_of(act(writer)) for act in QUERIES.values()]

    with respx.mock() as wire:
        assert set(asyncio.run(run())) == {("NotExecutedError", "not_configured", None)}
    assert not wire.calls


def test_a_proxy_that_the_environment_names_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    heard = says(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    assert talked(EVERY, heard) == each(EVERY, ("RefusedError", "refused", None))


def slowly(first: bytes) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while not (reader.at_eof() or writer.transport.is_closing()):
            await asyncio.sleep(0.02)
            writer.write(first and b" ")

    return talk


@pytest.mark.parametrize(
    ("first", "told"), [(b"", ("BackendSilentError", "timeout", None)), (HEAD, OCCURRED)]
)
def test_a_time_out_is_told_in_time_and_a_success_that_trickles_is_still_one(
    first: bytes, told: object
) -> None:
    async def run() -> tuple[object, float]:
        call = Call(principal=ANN, timeout_s=1, reference=REFERENCE)
        server, url = await listen(slowly(first))
        async with server:
            begun = monotonic()
            proof = await proof_of(items_at(url).create("bolt", 3, call))
            return proof, monotonic() - begun

    proof, took_s = asyncio.run(run())
    assert proof == told
    assert 0.9 < took_s < 1


def test_a_cancelled_call_stays_cancelled() -> None:
    async def run() -> None:
        arrived = asyncio.Event()

        async def talk(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
            arrived.set()
            await reader.read(1)

        server, url = await listen(talk)
        async with server:
            sending = asyncio.ensure_future(items_at(url).create("bolt", 3, COMMAND))
            await asyncio.wait_for(arrived.wait(), 5)
            sending.cancel()
            await sending

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
