"""The scripts' key locking, which the engine does not know, and what scripts are billed."""

import asyncio
import hashlib
from collections.abc import Generator

import httpx
import pytest
from upstash_redis import Redis
from upstash_redis.asyncio import Redis as AsyncRedis
from upstash_redis.errors import UpstashError

from lib.dev.engine import start_engine
from lib.dev.front import Front, create_front
from lib.dev.serving import serve

ALL, READ = "all", "read"
LOCKING = "#!lua flags=allow-key-locking\n"
DYNAMIC = r"^ERR Dynamic keys are not allowed in Lua scripts when 'allow-key-locking' flag is set"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Front, str]]:
    with start_engine(tmp_path_factory.mktemp("scripts")) as engine:
        front = create_front(
            engine.socket_path,
            token=ALL,
            read_only_token=READ,
            count=True,
        )
        with serve(front) as served:
            yield front, served.url


@pytest.fixture
def front(running: tuple[Front, str]) -> Front:
    running[0].exchanges.clear()
    return running[0]


@pytest.fixture
def store(running: tuple[Front, str]) -> Generator[Redis]:
    with Redis(url=running[1], token=ALL, rest_retries=0) as client:
        yield client


def test_a_locking_script_works_on_the_keys_it_declares(store: Redis) -> None:
    script = LOCKING + "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])"

    assert store.eval(script, ["declared"], ["kept"]) == "kept"


@pytest.mark.parametrize(
    "body",
    [
        "return redis.call('SET', 'undeclared', '1')",
        "return redis.pcall('SET', 'undeclared', '1')",
        "return redis.call('MSET', KEYS[1], '1', 'undeclared', '1')",
        "return redis.call('ZADD', 'undeclared', 1, 'member')",
    ],
)
def test_a_locking_script_cannot_touch_a_key_it_did_not_declare(store: Redis, body: str) -> None:
    with pytest.raises(UpstashError, match=DYNAMIC):
        store.eval(LOCKING + body, ["declared"])

    assert store.exists("undeclared") == 0


def test_without_the_flag_the_same_script_runs(store: Redis) -> None:
    assert store.eval("return redis.call('SET', 'dynamic', '1')", ["declared"]) == "OK"


def test_a_locking_script_cannot_flush(store: Redis) -> None:
    store.set("stays", "1")
    with pytest.raises(UpstashError, match="allow-key-locking"):
        store.eval(LOCKING + "return redis.call('FLUSHALL')", ["declared"])

    assert store.get("stays") == "1"


def test_a_flag_that_nobody_knows_is_refused(store: Redis) -> None:
    with pytest.raises(UpstashError, match="Unexpected flag in script shebang: no-such"):
        store.eval("#!lua flags=allow-key-locking,no-such\nreturn 1")


def test_the_flags_beside_it_keep_their_meaning(store: Redis) -> None:
    flags = "#!lua flags=no-writes,allow-key-locking\n"
    with pytest.raises(UpstashError, match="Write commands are not allowed"):
        store.eval(flags + "return redis.call('SET', KEYS[1], '1')", ["declared"])

    assert store.eval(flags + "return redis.call('EXISTS', KEYS[1])", ["none"]) == 0


def test_an_error_names_the_line_of_the_script_as_it_was_sent(store: Redis) -> None:
    with pytest.raises(UpstashError, match="user_script:3: on purpose"):
        store.eval(LOCKING + "\nerror('on purpose')", ["declared"])


def test_a_locking_script_is_known_by_the_digest_of_what_was_sent(store: Redis) -> None:
    script = LOCKING + "return redis.call('SET', KEYS[1], '1')"
    digest = store.script_load(script)

    assert digest == hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
    assert store.script_exists(digest, "f" * 40) == [True, False]
    assert store.evalsha(digest, ["declared"]) == "OK"
    with pytest.raises(UpstashError, match=r"^NOSCRIPT"):
        store.evalsha("f" * 40, ["declared"])


def test_a_script_is_billed_with_each_of_its_calls(front: Front, store: Redis) -> None:
    calls = "redis.call('SET', KEYS[1], '1') redis.call('PTTL', KEYS[1])"
    store.get("one")
    store.eval(calls, ["key"])
    store.eval(LOCKING + calls, ["key"])

    assert [(made.path, made.commands, made.status, made.billed) for made in front.exchanges] == [
        ("/", ("GET",), 200, 1),
        ("/", ("EVAL",), 200, 3),
        ("/", ("EVAL",), 200, 3),
    ]


def test_a_pipeline_and_a_transaction_are_billed_by_their_items(front: Front, store: Redis) -> None:
    for several in (store.pipeline(), store.multi()):
        several.set("item", "1")
        several.eval("return redis.call('GET', KEYS[1])", ["item"])
        several.exec()  # pyright: ignore[reportUnknownMemberType] - theirs

    assert [(made.path, made.billed) for made in front.exchanges] == [
        ("/pipeline", 3),
        ("/multi-exec", 3),
    ]


def test_what_is_refused_before_the_engine_is_billed_nothing(
    front: Front, running: tuple[Front, str]
) -> None:
    httpx.post(running[1], json=["GET", "k"])
    httpx.post(running[1], json=["SET", "k", "v"], headers={"Authorization": "Bearer read"})

    assert [(made.commands, made.status, made.billed) for made in front.exchanges] == [
        ((), 401, 0),
        (("SET",), 400, 0),
    ]


def test_concurrent_requests_are_each_billed_their_own(
    front: Front, running: tuple[Front, str]
) -> None:
    async def run_all() -> None:
        async with AsyncRedis(url=running[1], token=ALL, rest_retries=0) as client:
            script = "return redis.call('INCR', KEYS[1])"
            # Longer than what the engine reads at once, so that it turns to others in between.
            long = ["x" * 100_000]
            await asyncio.gather(*(client.eval(script, ["together"], long) for _ in range(30)))

    asyncio.run(run_all())

    assert [made.billed for made in front.exchanges] == [2] * 30
