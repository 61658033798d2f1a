"""What the store's two tokens can do: the read-only one reads, and none can harm the engine."""

from collections.abc import Generator

import httpx
import pytest
from upstash_redis import Redis

from lib.dev.engine import start_engine
from lib.dev.front import create_front
from lib.dev.serving import serve

ALL, READ = "all", "read"
WRITES = "SET k v,DEL k,GETSET k v,ZADD z 1 m,PEXPIRE k 1,FLUSHALL,SCRIPT FLUSH,PUBLISH c m"
SCRIPTS = "EVAL return 0,EVAL_RO return 0,EVALSHA f 0"
WALKS = "SCAN 0,KEYS *"
CONNECTION = "SELECT 1,AUTH x,MULTI,EXEC,WATCH k,QUIT,RESET,HELLO 3,CLIENT KILL ID 1,SUBSCRIBE c"
BLOCKING = "BLPOP k 0,BZPOPMIN z 0,XREAD BLOCK 0 STREAMS s $,WAIT 1 0,MONITOR"
ADMINISTRATION = "SHUTDOWN,CONFIG SET port 1,CONFIG GET port,ACL SETUSER x,REPLICAOF h 1,SAVE"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with start_engine(tmp_path_factory.mktemp("permissions")) as engine:
        front = create_front(engine.socket_path, token=ALL, read_only_token=READ)
        with serve(front) as served:
            yield served.url


def ask(url: str, command: str, *, token: str) -> tuple[int, dict[str, str]]:
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.post(url, json=command.split(" "), headers=headers)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("sent", ["", "Bearer", "Bearer wrong", "all", "Bearer all2", "Basic all"])
def test_without_a_right_token_every_form_is_refused(url: str, sent: str) -> None:
    for path, rows in (("/", ["PING"]), ("/pipeline", [["PING"]]), ("/multi-exec", [["PING"]])):
        answer = httpx.post(url + path, json=rows, headers={"Authorization": sent})
        refusal = {"error": "WRONGPASS invalid or missing auth token"}
        assert (answer.status_code, answer.json()) == (401, refusal)


def test_the_read_only_token_reads(url: str) -> None:
    with (
        Redis(url=url, token=ALL, rest_retries=0) as store,
        Redis(url=url, token=READ, rest_retries=0) as reader,
    ):
        store.set("seen", "1")
        store.zadd("seen-index", {"member": 1})

        assert reader.get("seen") == "1"
        assert reader.pttl("seen") == -1
        assert reader.zrange("seen-index", 0, -1) == ["member"]
        assert reader.ping() == "PONG"


@pytest.mark.parametrize("command", f"{WRITES},{SCRIPTS},{WALKS}".split(","))
def test_the_read_only_token_can_do_nothing_else(url: str, command: str) -> None:
    name = command.split(" ", maxsplit=1)[0].lower()

    assert ask(url, command, token=READ) == (
        400,
        {"error": f"NOPERM this user has no permissions to run the '{name}' command"},
    )


def test_a_refused_write_in_a_pipeline_leaves_its_reads(url: str) -> None:
    headers = {"Authorization": f"Bearer {READ}"}
    rows = [["SET", "unwritten", "1"], ["EXISTS", "unwritten"]]

    refused, read = httpx.post(f"{url}/pipeline", json=rows, headers=headers).json()

    assert refused["error"].startswith("NOPERM")
    assert read == {"result": 0}


@pytest.mark.parametrize("command", f"{CONNECTION},{BLOCKING},{ADMINISTRATION}".split(","))
def test_what_would_hold_or_change_the_engine_is_not_available(url: str, command: str) -> None:
    status, said = ask(url, command, token=ALL)

    assert status == 400
    assert said["error"].startswith("ERR Command is not available: '")
    assert ask(url, "PING", token=ALL) == (200, {"result": "PONG"})
