"""Faults of the store's wire: what each does to the data, and what really reaches the client."""

import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import pytest

from lib.dev.engine import start_engine
from lib.dev.faults import (
    AnswerLost,
    DeliveredTwice,
    Fault,
    HalfAnswer,
    Held,
    ResetBefore,
    bad_gateway,
)
from lib.dev.faulty import Faults
from lib.dev.front import create_front
from lib.dev.serving import serve
from lib.dev.store_faults import (
    MAX_REQUESTS,
    OVER_CAPACITY,
    engine_error,
    naming,
    nth,
    too_many_requests,
)

ALL, READ = "all", "read"
ADD = ["EVAL", "return redis.call('INCR', KEYS[1])", "1", "count"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    faults: Faults
    http: httpx.Client

    def count(self) -> int:
        return int(self.http.get("/get/count").json()["result"])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Faults, str]]:
    faults = Faults()
    with start_engine(tmp_path_factory.mktemp("faults")) as engine:
        front = create_front(
            engine.socket_path,
            token=ALL,
            read_only_token=READ,
            faults=faults,
        )
        with serve(front) as served:
            yield faults, served.url


@pytest.fixture
def wire(served: tuple[Faults, str]) -> Generator[Wire]:
    faults, url = served
    faults.clear()
    with httpx.Client(base_url=url, headers={"Authorization": "Bearer all"}) as http:
        http.post("/", json=["SET", "count", "0"])
        yield Wire(faults=faults, http=http)


@pytest.mark.parametrize(
    ("fault", "reaches", "executed"),
    [
        (ResetBefore(), httpx.ReadError, 0),
        (AnswerLost(), httpx.RemoteProtocolError, 1),
        (AnswerLost(is_reset=True), httpx.ReadError, 1),
        (HalfAnswer(), httpx.RemoteProtocolError, 1),
    ],
)
def test_a_broken_connection_reaches_the_client_as_what_it_is(
    wire: Wire, fault: Fault, reaches: type[httpx.HTTPError], executed: int
) -> None:
    wire.faults.plan(fault, on=naming("EVAL"))

    with pytest.raises(reaches):
        wire.http.post("/", json=ADD)
    assert wire.count() == executed


@pytest.mark.parametrize(
    ("fault", "status", "says"),
    [
        (bad_gateway("before"), 502, "<html>"),
        (too_many_requests(), 429, '{"message": "Too Many Requests"}'),
        (engine_error(MAX_REQUESTS), 400, '{"error": "ERR max requests limit exceeded'),
        (engine_error(OVER_CAPACITY), 400, '{"error": "ERR DB capacity quota exceeded'),
    ],
)
def test_an_answer_in_place_of_the_engines_executes_nothing(
    wire: Wire, fault: Fault, status: int, says: str
) -> None:
    wire.faults.plan(fault)

    answer = wire.http.post("/", json=ADD)

    assert (answer.status_code, answer.text[: len(says)], wire.count()) == (status, says, 0)


def test_a_request_delivered_twice_is_executed_twice(wire: Wire) -> None:
    wire.faults.plan(DeliveredTwice())

    assert wire.http.post("/", json=ADD).status_code == 200
    assert wire.count() == 2


@pytest.mark.parametrize(("at", "executed"), [("before", 0), ("after", 1)])
def test_a_held_request_waits_before_or_after_it_is_executed(
    wire: Wire, at: str, executed: int
) -> None:
    release = threading.Event()
    wire.faults.plan(Held("before" if at == "before" else "after", release), on=naming("EVAL"))
    fired = len(wire.faults.fired)

    with ThreadPoolExecutor(1) as other:
        held = other.submit(wire.http.post, "/", json=ADD)
        assert wire.faults.wait_fired(fired + 1)
        seen = {wire.count() for _ in range(20)}
        release.set()
        assert held.result(5).json() == {"result": 1}

    assert seen <= {0, executed}
    assert (executed in seen, wire.count()) == (True, 1)


def test_a_fault_strikes_the_request_it_was_planned_for(wire: Wire) -> None:
    wire.faults.plan(bad_gateway("before"), on=nth(2, naming("EVAL")))

    statuses = [
        wire.http.post(path, json=rows).status_code
        for path, rows in (
            ("/", ADD),
            ("/", ["GET", "count"]),
            ("/", ["GET", "EVAL"]),
            ("/pipeline", [["PING"], ADD]),
            ("/", ADD),
        )
    ]

    assert statuses == [200, 200, 200, 502, 200]
