"""The sample items service has one effect per key, and effect and answer commit together."""

import sqlite3
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from lib.dev.faults import HeldInside
from lib.dev.faulty import Faults, call
from lib.dev.items import Items, Tokens, create_items
from lib.dev.items_writes import KEY_WINDOW_S
from lib.dev.serving import serve

READER, WRITER = "read", "write"
WRITE = {"Authorization": f"Bearer {WRITER}"}
BOLT = {"name": "bolt", "quantity": 3}


@pytest.fixture
def items(tmp_path: Path) -> Items:
    return create_items(tmp_path / "items.db", read_token=READER, write_token=WRITER)


@pytest.fixture
def client(items: Items) -> Generator[httpx.Client]:
    with serve(items) as served, httpx.Client(base_url=served.url, headers=WRITE) as client:
        yield client


def create(client: httpx.Client, key: str = "k", **changes: Any) -> httpx.Response:
    return client.post("/items", json=BOLT | changes, headers={"Idempotency-Key": key})


def refused(response: httpx.Response) -> tuple[int, str]:
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message"}
    assert response.headers["content-type"] == "application/json"
    return response.status_code, body["error"]["code"]


def test_a_repeated_key_gets_the_first_answer_also_after_the_item_changed(
    client: httpx.Client, items: Items
) -> None:
    first = create(client)
    path = f"/items/{first.json()['id']}"
    client.patch(path, json={"quantity": 9}, headers={"X-Reference": "r"})
    again = client.post(
        "/items", content=b'{"quantity": 3,\n"name":"b\\u006flt"}', headers={"Idempotency-Key": "k"}
    )
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert items.effects().created == 1


def test_a_key_stands_for_one_request_only(client: httpx.Client, items: Items) -> None:
    item_id = create(client).json()["id"]
    other_body = create(client, quantity=4)
    other_route = client.delete(f"/items/{item_id}", headers={"Idempotency-Key": "k"})
    assert refused(other_body) == refused(other_route) == (422, "key_reused")
    assert (items.effects().created, items.effects().deleted) == (1, 0)


def test_a_refusal_is_not_remembered_under_its_key(client: httpx.Client) -> None:
    assert refused(create(client, quantity=-1)) == (422, "invalid")
    assert create(client).status_code == 201


def test_a_key_is_kept_for_its_window_and_forgotten_after_it(tmp_path: Path) -> None:
    now = 0.0
    tokens = Tokens(read=READER, write=WRITER)
    items = Items(
        tmp_path / "items.db",
        tokens=tokens,
        faults=Faults(),
        on_written=lambda _: None,
        clock=lambda: now,
    )
    with serve(items) as served, httpx.Client(base_url=served.url, headers=WRITE) as client:
        first = create(client).json()
        now = KEY_WINDOW_S
        inside = create(client).json()
        now = KEY_WINDOW_S + 1
        outside = create(client).json()
    assert inside == first
    assert outside["id"] != first["id"]


def test_a_key_is_in_use_while_its_first_request_runs(client: httpx.Client, items: Items) -> None:
    opened = Event()
    items.faults.plan(HeldInside(opened), on=call("POST"))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(create, client)
        assert items.faults.wait_fired()
        second = create(client)
        opened.set()
        created = first.result(5)
    assert refused(second) == (409, "key_in_use")
    assert (created.status_code, items.effects().created) == (201, 1)
    assert create(client).content == created.content


def test_many_concurrent_requests_with_one_key_make_one_item(
    client: httpx.Client, items: Items
) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(create, [client] * 40))
    made = {answer.content for answer in answers if answer.status_code == 201}
    others = {refused(answer) for answer in answers if answer.status_code != 201}
    assert len(made) == items.effects().created == 1
    assert others <= {(409, "key_in_use")}


def change(client: httpx.Client, path: str) -> int:
    return client.patch(path, json={"quantity": 1}, headers={"X-Reference": "r"}).status_code


def test_two_services_on_one_database_share_keys_and_queue_for_it(
    items: Items, tmp_path: Path
) -> None:
    other = create_items(tmp_path / "items.db", read_token=READER, write_token=WRITER)
    with (
        serve(items) as one,
        serve(other) as two,
        httpx.Client(base_url=one.url, headers=WRITE) as first,
        httpx.Client(base_url=two.url, headers=WRITE) as second,
        ThreadPoolExecutor(8) as pool,
    ):
        answers = list(pool.map(create, [first, second] * 20))
        path = f"/items/{create(first).json()['id']}"
        changes = set(pool.map(change, [first, second] * 20, [path] * 40))
        version = first.get(path).json()["version"]
    made = {answer.content for answer in answers if answer.status_code == 201}
    assert len(made) == items.effects().created == 1
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert (changes, version) == ({200}, 41)


def test_an_effect_whose_key_or_reference_cannot_be_kept_does_not_happen(
    client: httpx.Client, items: Items, tmp_path: Path
) -> None:
    item = create(client).json()
    path, refuse = f"/items/{item['id']}", "BEGIN SELECT RAISE(ABORT, 'full'); END"
    with closing(sqlite3.connect(tmp_path / "items.db")) as db:
        for table in ("keys", "changes"):
            db.execute(f"CREATE TRIGGER full_{table} BEFORE INSERT ON {table} {refuse}")
    answers = [
        create(client, "other"),
        client.delete(path, headers={"Idempotency-Key": "d"}),
        client.patch(path, json={"quantity": 9}, headers={"X-Reference": "r"}),
    ]
    assert [refused(answer) for answer in answers] == [(503, "unavailable")] * 3
    assert client.get("/items").json()["items"] == [item]
    assert (items.effects().created, items.effects().deleted) == (1, 0)
