"""A sample items service killed by SIGKILL has both effect and remembered answer, or neither."""

import signal
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Semaphore

import httpx

from lib.dev.items_db import count_effects

ROOT = Path(__file__).parents[2]
SERVICE = """
import os, signal, sys
from pathlib import Path
from lib.dev.items import create_items
from lib.dev.serving import serve

def die(written):
    os.kill(os.getpid(), signal.SIGKILL)

items = create_items(
    Path(sys.argv[1]),
    read_token="read",
    write_token="write",
    on_written=die if sys.argv[2] == "dies" else None,
)
with serve(items) as served:
    print(served.url, flush=True)
    sys.stdin.read()
"""
type Service = tuple[subprocess.Popen[str], httpx.Client]


@contextmanager
def service(db: Path, mode: str) -> Generator[Service]:
    with subprocess.Popen(  # noqa: S603 - our own interpreter and script
        [sys.executable, "-c", SERVICE, str(db), mode],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        try:
            url = process.stdout.readline().strip()
            with httpx.Client(base_url=url, headers={"Authorization": "Bearer write"}) as client:
                yield process, client
        finally:
            process.kill()


def create(client: httpx.Client, key: str) -> httpx.Response | None:
    try:
        headers = {"Idempotency-Key": key}
        return client.post("/items", json={"name": key, "quantity": 1}, headers=headers)
    except httpx.TransportError:
        return None


def test_a_service_killed_between_commit_and_answer_replays_the_item(tmp_path: Path) -> None:
    db = tmp_path / "items.db"
    with service(db, "dies") as (process, client):
        assert create(client, "k") is None
        assert process.wait(5) == -signal.SIGKILL
    assert count_effects(db).created == 1
    with service(db, "lives") as (_, client):
        again = create(client, "k")
        items = client.get("/items").json()["items"]
    assert again
    assert (again.status_code, again.headers["idempotency-replayed"]) == (201, "true")
    assert items == [again.json()]
    assert count_effects(db).created == 1


def test_kills_under_load_lose_no_answered_item_and_double_none(tmp_path: Path) -> None:
    db = tmp_path / "items.db"
    keys = [f"k{number}" for number in range(60)]
    answered: dict[str, str] = {}
    unanswered = 0
    for _ in range(2):
        with service(db, "lives") as (process, client), ThreadPoolExecutor(8) as pool:
            seen = Semaphore(0)

            def ask(key: str, client: httpx.Client = client, seen: Semaphore = seen) -> bool:
                answer = create(client, key)
                if answer is not None and answer.status_code == 201:
                    assert answered.setdefault(key, answer.text) == answer.text
                seen.release()
                return answer is not None

            round_of_keys = pool.map(ask, keys)
            for _ in range(15):
                assert seen.acquire(timeout=5)
            process.kill()
            unanswered += list(round_of_keys).count(False)
    with service(db, "lives") as (_, client):
        last = [create(client, key) for key in keys]
    assert unanswered
    assert answered
    assert [answer.text for answer in last if answer] == [
        answered.get(key, answer.text) for key, answer in zip(keys, last, strict=True) if answer
    ]
    assert len(last) == len([answer for answer in last if answer]) == count_effects(db).created
