"""The sample items service keeps DESIGN §4's last table, row by row."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lib.dev.items import Items, Written, create_items
from lib.dev.serving import serve

READER, WRITER = "read", "write"
WRITE = {"Authorization": f"Bearer {WRITER}"}
READ = {"Authorization": f"Bearer {READER}"}
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


def test_a_created_item_can_be_read_with_the_read_token(client: httpx.Client) -> None:
    created = create(client)
    read = client.get(f"/items/{created.json()['id']}", headers=READ)
    assert created.status_code == 201
    assert "idempotency-replayed" not in created.headers
    assert read.status_code == 200
    assert read.json() == created.json() == BOLT | {"id": read.json()["id"], "version": 1}


def test_a_change_is_stored_with_its_reference(client: httpx.Client) -> None:
    item_id = create(client).json()["id"]
    changed = client.patch(
        f"/items/{item_id}", json={"name": "nüt"}, headers={"X-Reference": "r/1"}
    )
    found = client.get("/operations/r/1", headers=READ)
    item = {"id": item_id, "name": "nüt", "quantity": 3, "version": 2}
    assert (changed.status_code, changed.json()) == (200, item)
    assert found.json() == {
        "reference": "r/1",
        "item_id": item_id,
        "request": {"name": "nüt"},
        "item": item,
    }
    assert refused(client.get("/operations/r2")) == (404, "not_found")


def test_a_reference_sent_twice_is_applied_twice_and_both_are_told(client: httpx.Client) -> None:
    path = f"/items/{create(client).json()['id']}"
    client.patch(path, json={"quantity": 4}, headers={"X-Reference": "r"})
    client.patch(path, json={"quantity": 5}, headers={"X-Reference": "r"})
    found = client.get("/operations/r").json()
    assert (found["count"], found["request"], found["item"]["version"]) == (2, {"quantity": 5}, 3)


def test_a_deletion_is_replayed_under_its_key_and_refused_under_another(
    client: httpx.Client, items: Items
) -> None:
    item = create(client).json()
    path = f"/items/{item['id']}"
    first = client.delete(path, headers={"Idempotency-Key": "d"})
    again = client.delete(path, headers={"Idempotency-Key": "d"})
    assert (first.status_code, first.json()) == (200, item)
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    assert refused(client.delete(path, headers={"Idempotency-Key": "e"})) == (404, "not_found")
    assert refused(client.get(path)) == (404, "not_found")
    assert (items.effects().created, items.effects().deleted) == (1, 1)


def test_a_notice_is_accepted_as_often_as_it_is_sent(client: httpx.Client, items: Items) -> None:
    notice = {"item_id": create(client).json()["id"], "message": "line\nline"}
    answers = [client.post("/notices", json=notice) for _ in range(2)]
    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (202, {"accepted": True})
    ] * 2
    assert client.get("/notices", headers=READ).json() == {"count": 2, "notices": [notice] * 2}
    assert items.effects().notices == 2
    assert refused(client.post("/notices", json=notice | {"item_id": "x"})) == (404, "not_found")


def test_a_second_label_with_a_reference_is_a_duplicate_also_when_the_item_is_gone(
    client: httpx.Client, items: Items
) -> None:
    item_id = create(client).json()["id"]
    body, under = {"item_id": item_id, "text": "fragile"}, {"X-Reference": "r"}
    first = client.post("/labels", json=body, headers=under)
    client.delete(f"/items/{item_id}", headers={"Idempotency-Key": "d"})
    assert first.status_code == 201
    assert first.json() == body | {"id": first.json()["id"], "reference": "r"}
    assert refused(client.post("/labels", json=body, headers=under)) == (409, "duplicate")
    assert client.get("/labels/r", headers=READ).json() == first.json()
    assert refused(client.get("/labels/other")) == (404, "not_found")
    assert items.effects().labels == 1


def test_a_written_effect_is_told_once_before_its_answer(tmp_path: Path) -> None:
    told: list[Written] = []
    items = create_items(
        tmp_path / "items.db", read_token=READER, write_token=WRITER, on_written=told.append
    )
    with serve(items) as served, httpx.Client(base_url=served.url, headers=WRITE) as client:
        answers = [create(client), create(client), create(client, quantity=-1)]
    assert told == [Written(method="POST", path="/items", under="k", answer=answers[0].text)]


def test_the_two_tokens_must_differ(tmp_path: Path) -> None:
    for read, write in (("same", "same"), ("", "write"), ("read", "")):
        with pytest.raises(ValueError, match="two different"):
            create_items(tmp_path / "items.db", read_token=read, write_token=write)
