"""The store's REST front on a real engine, over a real socket, through the client that deploys."""

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
from upstash_redis import Redis
from upstash_redis.asyncio import Redis as AsyncRedis

from lib.dev.engine import start_engine
from lib.dev.front import create_front
from lib.dev.rest import MAX_REQUEST_BYTES
from lib.dev.serving import serve

ALL, READ = "all", "read"
TEXT = 'é ✓ 💥 "quoted" \\ \n\t\x00 end'


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with start_engine(tmp_path_factory.mktemp("front")) as engine:
        front = create_front(engine.socket_path, token=ALL, read_only_token=READ)
        with serve(front) as served:
            yield served.url


@pytest.fixture
def store(url: str) -> Generator[Redis]:
    with Redis(url=url, token=ALL, rest_retries=0, allow_telemetry=False) as client:
        yield client


@pytest.fixture
def http(url: str) -> Generator[httpx.Client]:
    with httpx.Client(base_url=url, headers={"Authorization": "Bearer all"}) as client:
        yield client


def test_any_text_comes_back_as_it_was_sent(store: Redis) -> None:
    store.set("text", TEXT)

    assert store.get("text") == TEXT
    assert store.eval("return {ARGV[1], {KEYS[1], 7, false}}", ["key"], [TEXT]) == [
        TEXT,
        ["key", 7, None],
    ]


def test_only_strings_other_than_ok_are_encoded(http: httpx.Client) -> None:
    script = 'return {"OK", "a", 1, false, {"b"}}'

    coded = http.post("/", json=["EVAL", script, 0], headers={"Upstash-Encoding": "base64"})
    plain = http.post("/", json=["EVAL", script, 0])

    assert coded.json() == {"result": ["OK", "YQ==", 1, None, ["Yg=="]]}
    assert plain.json() == {"result": ["OK", "a", 1, None, ["b"]]}


def test_of_200_concurrent_claims_of_one_key_one_wins(url: str) -> None:
    async def claim_all() -> list[Any]:
        async with AsyncRedis(url=url, token=ALL, rest_retries=0) as client:
            return await asyncio.gather(
                *(client.set("claimed", str(n), nx=True) for n in range(200))
            )

    assert sum(bool(won) for won in asyncio.run(claim_all())) == 1


def test_a_pipeline_answers_each_command_and_one_error_leaves_the_others_be(
    http: httpx.Client,
) -> None:
    rows = [["SET", "pipe", "text"], ["INCR", "pipe"], ["NOPE"], ["MONITOR"], ["GET", "pipe"]]

    answer = http.post("/pipeline", json=rows)

    first, *errors, last = answer.json()
    assert (answer.status_code, first, last) == (200, {"result": "OK"}, {"result": "text"})
    assert [error["error"].split()[1] for error in errors] == ["value", "unknown", "Command"]


def test_a_transaction_is_never_interleaved(url: str) -> None:
    async def run_all() -> list[list[Any]]:
        async with AsyncRedis(url=url, token=ALL, rest_retries=0) as client:

            async def one() -> list[Any]:
                multi = client.multi()
                for _ in range(10):
                    multi.incr("serial")
                # Their own return type holds a list of unknowns.
                return await multi.exec()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

            return await asyncio.gather(*(one() for _ in range(30)))

    for counted in asyncio.run(run_all()):
        assert counted == list(range(counted[0], counted[0] + 10))


@pytest.mark.parametrize("broken", [["GET"], ["NOPE"], ["CONFIG", "GET", "dir"], ["MULTI"]])
def test_a_transaction_with_a_command_that_cannot_be_queued_changes_nothing(
    http: httpx.Client, broken: list[str]
) -> None:
    answer = http.post("/multi-exec", json=[["SET", "dropped", "1"], broken])

    assert answer.status_code == 400
    assert answer.json()["error"].startswith("EXECABORT Transaction discarded")
    assert http.get("/get/dropped").json() == {"result": None}


def test_a_path_is_a_command_with_the_body_and_then_the_query_behind_it(http: httpx.Client) -> None:
    assert http.post("/set/pa%2Fth?EX=100", content=b"va lue").json() == {"result": "OK"}
    assert http.get("/get/pa%2Fth").json() == {"result": "va lue"}
    assert 0 < http.get("/ttl/pa%2Fth").json()["result"] <= 100


def test_numbers_reach_the_engine_as_they_were_written(http: httpx.Client) -> None:
    http.post("/", content=b'["SET", "number", 1.50]')

    assert http.get("/get/number").json() == {"result": "1.50"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/", b"", 400),
        ("/", b"[]", 400),
        ("/", b"{}", 400),
        ("/", b'"PING"', 400),
        ("/", b"[NaN]", 400),
        ("/", b'["GET", null]', 400),
        ("/", b'["GET", ["k"]]', 400),
        ("/", b'["GET", "\\ud800"]', 400),
        ("/", b"[" * 100_000, 400),
        ("/", b'["GET", "\xff"]', 400),
        ("/pipeline", b"[]", 400),
        ("/pipeline", b'["PING"]', 400),
        ("/multi-exec", b"[[]]", 400),
        ("/", b'["' + b"x" * MAX_REQUEST_BYTES + b'"]', 413),
    ],
    ids=str,
)
def test_what_is_no_command_is_an_error_in_json(
    http: httpx.Client, path: str, body: bytes, status: int
) -> None:
    answer = http.post(path, content=body)

    assert (answer.status_code, list(answer.json())) == (status, ["error"])


def test_a_request_given_up_half_way_does_not_shift_the_answers_of_the_next(tmp_path: Path) -> None:
    async def give_up_and_ask() -> list[object]:
        front = create_front(engine.socket_path, token=ALL, read_only_token=READ)
        transport = httpx.ASGITransport(front)
        headers = {"Authorization": f"Bearer {ALL}"}
        async with httpx.AsyncClient(transport=transport, headers=headers) as client:
            slow = "for n = 1, 2e7 do end return 'slow'"
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await client.post("http://front", json=["EVAL", slow, 0])
            asked = [client.post("http://front", json=["ECHO", str(n)]) for n in range(20)]
            answers = [answer.json()["result"] for answer in await asyncio.gather(*asked)]
        await front.aclose()
        return answers

    with start_engine(tmp_path) as engine:
        assert asyncio.run(give_up_and_ask()) == [str(n) for n in range(20)]


def test_each_answer_carries_another_sync_token(http: httpx.Client) -> None:
    tokens = [http.get("/ping").headers["Upstash-Sync-Token"] for _ in range(3)]

    assert len(set(tokens)) == 3


def test_without_an_engine_the_front_is_a_bad_gateway(tmp_path: Path) -> None:
    front = create_front(tmp_path / "nobody", token=ALL, read_only_token=READ)
    with serve(front) as served:
        answer = httpx.post(served.url, json=["PING"], headers={"Authorization": "Bearer all"})

    assert (answer.status_code, answer.headers["content-type"]) == (502, "text/html")
