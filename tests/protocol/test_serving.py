"""Serving from a thread: ready when it says so, and nothing left when it ends."""

import socket
import statistics
import threading
import time

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from lib.dev.serving import NotServingError, serve


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    assert scope["type"] == "http"
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-length", b"5"), (b"connection", b"keep-alive")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


async def unable(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.failed", "message": scope["type"]})


def test_it_answers_at_once_and_leaves_no_thread_and_no_socket() -> None:
    before = threading.active_count()

    with serve(hello) as served, httpx.Client() as client:
        assert client.get(served.url).text == "hello"

    assert threading.active_count() == before
    with pytest.raises(httpx.ConnectError):
        httpx.get(served.url)


def test_a_port_can_be_served_again_at_once() -> None:
    with serve(hello) as served:
        assert httpx.get(served.url).text == "hello"
    with serve(hello, port=served.port) as again:
        assert (again.url, httpx.get(again.url).text) == (served.url, "hello")


def test_a_taken_port_is_an_os_error() -> None:
    with (
        serve(hello) as served,
        pytest.raises(OSError, match="in use"),
        serve(hello, port=served.port),
    ):
        pass


def test_an_app_that_cannot_start_is_an_error_and_frees_the_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(NotServingError), serve(unable, port=port):
        pass

    with serve(hello, port=port) as served:
        assert httpx.get(served.url).text == "hello"


def test_an_answer_is_not_held_back_for_an_acknowledgement() -> None:
    # Without TCP_NODELAY the body waits some 40 ms for the acknowledgement of the head.
    def seconds_of(client: httpx.Client) -> float:
        started = time.perf_counter()
        client.post(served.url, content=b"x" * 500)
        return time.perf_counter() - started

    with serve(hello) as served, httpx.Client() as client:
        assert statistics.median(seconds_of(client) for _ in range(15)) < 0.03
