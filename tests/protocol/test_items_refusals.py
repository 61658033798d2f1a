"""The sample items service refuses in one form, and lists in pages."""

import socket
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from lib.dev.items import Items, create_items
from lib.dev.items_db import Effects
from lib.dev.serving import serve

READER, WRITER = "read", "write"
WRITE = {"Authorization": f"Bearer {WRITER}"}
READ = {"Authorization": f"Bearer {READER}"}
OUT_OF_BOUNDS = (
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"{}", b'{"name":"x"}', b'{"quantity":1}']
    + [b'{"name":"x","quantity":%s}' % n for n in (b"1.0", b"1e2", b"true", b'"1"', b"null")]
    + [b'{"name":"x","quantity":%s}' % n for n in (b"-1", b"1000001", b"9" * 400)]
    + [b'{"name":%s,"quantity":1}' % name for name in (b'""', b"1", b"null")]
    + [b'{"name":"%s","quantity":1}' % (b"x" * 65)]
    + [b'{"name":"a\\u%s","quantity":1}' % code for code in (b"0000", b"001f", b"007f", b"0085")]
    + [b'{"name":"a\\u%s","quantity":1}' % code for code in (b"d800", b"dc00", b"000a")]
    + [b'{"name":"x","quantity":1,"more":1}']
)


@pytest.fixture
def items(tmp_path: Path) -> Items:
    return create_items(tmp_path / "items.db", read_token=READER, write_token=WRITER)


@pytest.fixture
def client(items: Items) -> Generator[httpx.Client]:
    with serve(items) as served, httpx.Client(base_url=served.url, headers=WRITE) as client:
        yield client


def refused(response: httpx.Response) -> tuple[int, str]:
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message"}
    assert response.headers["content-type"] == "application/json"
    return response.status_code, body["error"]["code"]


def create(client: httpx.Client, name: str) -> Any:
    headers = {"Idempotency-Key": f"key-{name.encode().hex()}"}
    return client.post("/items", json={"name": name, "quantity": 0}, headers=headers).json()


def pages(client: httpx.Client, **query: Any) -> list[list[str]]:
    found: list[list[str]] = []
    cursor: dict[str, str] = {}
    for _ in range(10):
        page = client.get("/items", params=query | cursor, headers=READ).json()
        assert set(page) == {"items", "next_cursor"}
        found.append([item["name"] for item in page["items"]])
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}
    raise AssertionError("the pages do not end")


def test_pages_follow_the_order_of_creation_without_gap_or_repetition(
    client: httpx.Client,
) -> None:
    for name in "edcba":
        create(client, name)
    assert pages(client, limit=2) == [["e", "d"], ["c", "b"], ["a"]]
    assert pages(client, limit=5) == [list("edcba")]


def test_a_page_goes_on_where_it_ended_when_its_last_row_is_deleted(client: httpx.Client) -> None:
    made = [create(client, name) for name in "abc"]
    cursor = client.get("/items", params={"limit": 1}).json()["next_cursor"]
    client.delete(f"/items/{made[0]['id']}", headers={"Idempotency-Key": "d"})
    rest = client.get("/items", params={"cursor": cursor}).json()
    assert rest == {"items": made[1:], "next_cursor": None}
    assert pages(client) == [["b", "c"]]


def test_a_page_has_twenty_rows_unless_asked(client: httpx.Client) -> None:
    for number in range(21):
        create(client, str(number))
    assert [len(page) for page in pages(client)] == [20, 1]


def test_a_search_finds_the_text_itself_in_any_case(client: httpx.Client) -> None:
    for name in ("100%", "a_b", "a\\b", "Straße"):
        create(client, name)
    found = {
        "%": ["100%"],
        "_": ["a_b"],
        "\\": ["a\\b"],
        "A": ["a_b", "a\\b", "Straße"],
        "STRASSE": ["Straße"],
        "": ["100%", "a_b", "a\\b", "Straße"],
        "zz": [],
    }
    assert {text: pages(client, text=text)[0] for text in found} == found


def test_a_query_out_of_bounds_is_invalid(client: httpx.Client) -> None:
    limits = ("0", "101", "", "1.0", "-1", "%D9%A1", "9999999")
    cursors = ("", "x", "%C3%A9", "LTE=", "OTk5" * 20)
    queries = [f"limit={limit}" for limit in limits] + [f"cursor={cursor}" for cursor in cursors]
    for query in queries:
        assert refused(client.get(f"/items?{query}")) == (422, "invalid"), query


def test_a_body_out_of_bounds_is_invalid_and_leaves_nothing(
    client: httpx.Client, items: Items
) -> None:
    for body in OUT_OF_BOUNDS:
        answer = client.post("/items", content=body, headers={"Idempotency-Key": "k"})
        assert refused(answer) == (422, "invalid"), body
    assert items.effects().created == 0


def test_the_bounds_themselves_are_valid(client: httpx.Client) -> None:
    for name, quantity in (("x", 0), ("\U0001f9f0" * 64, 1_000_000)):
        body = {"name": name, "quantity": quantity}
        made = client.post(
            "/items", json=body, headers={"Idempotency-Key": name[:1].encode().hex()}
        )
        assert made.status_code == 201
        assert client.get(f"/items/{made.json()['id']}").json()["name"] == name


def test_a_change_of_nothing_or_of_something_else_is_invalid(
    client: httpx.Client, items: Items
) -> None:
    path = f"/items/{create(client, 'x')['id']}"
    changes: list[dict[str, Any]] = [{}, {"name": None}, {"quantity": True}, {"version": 1}]
    for change in changes:
        answer = client.patch(path, json=change, headers={"X-Reference": "r"})
        assert refused(answer) == (422, "invalid"), change
    assert items.effects().changed == 0


def test_a_key_or_reference_out_of_bounds_is_invalid(client: httpx.Client, items: Items) -> None:
    item_id = create(client, "x")["id"]
    for value in (None, b"", b"a b", b"x" * 256, b"\x80"):
        key = {} if value is None else {b"Idempotency-Key": value}
        reference = {} if value is None else {b"X-Reference": value}
        answers = [
            client.post("/items", json={"name": "y", "quantity": 1}, headers=key),
            client.delete(f"/items/{item_id}", headers=key),
            client.patch(f"/items/{item_id}", json={"quantity": 1}, headers=reference),
            client.post("/labels", json={"item_id": item_id, "text": "x"}, headers=reference),
        ]
        assert [refused(answer) for answer in answers] == [(422, "invalid")] * 4
    assert items.effects() == Effects(created=1, changed=0, deleted=0, notices=0, labels=0)


def test_a_key_sent_twice_is_invalid(client: httpx.Client) -> None:
    keys = [("Idempotency-Key", "one"), ("Idempotency-Key", "two")]
    answer = client.post("/items", json={"name": "x", "quantity": 1}, headers=keys)
    assert refused(answer) == (422, "invalid")


def test_a_request_whose_client_left_before_its_end_is_not_executed(
    client: httpx.Client, items: Items
) -> None:
    head = (
        "POST /items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer write\r\nIdempotency-Key: k\r\n"
    )
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as leaving:
        leaving.sendall(f'{head}Content-Length: 99\r\n\r\n{{"name":"x","quantity":1}}'.encode())
    assert client.get("/items").json()["items"] == []
    assert [seen.method for seen in items.faults.seen] == ["GET"]


def test_what_is_not_there_is_refused_in_the_same_form(client: httpx.Client) -> None:
    reference = {"X-Reference": "r"}
    missing = client.patch("/items/none", json={"quantity": 1}, headers=reference)
    assert refused(missing) == (404, "not_found")
    assert refused(client.get("/items/a%20b")) == (422, "invalid")
    assert refused(client.get("/items/")) == (404, "not_found")
    assert refused(client.get("/elsewhere")) == (404, "not_found")
    put = client.put("/items", json={})
    assert refused(put) == (405, "invalid")
    assert set(put.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_a_body_too_large_is_refused_unread(client: httpx.Client, items: Items) -> None:
    body = b'{"name":"x","quantity":1' + b" " * 3_000_000 + b"}"
    answer = client.post("/items", content=body, headers={"Idempotency-Key": "k"})
    assert refused(answer) == (413, "invalid")
    assert items.effects().created == 0


def test_the_read_token_reaches_nothing_but_get(client: httpx.Client, items: Items) -> None:
    routes = [("POST", "/items"), ("PATCH", "/items/x"), ("DELETE", "/items/x"), ("HEAD", "/items")]
    routes += [("POST", "/notices"), ("POST", "/labels"), ("PUT", "/elsewhere")]
    for method, path in routes:
        answer = client.request(method, path, headers=READ | {"Idempotency-Key": "k"})
        assert answer.status_code == 403
        assert method == "HEAD" or refused(answer) == (403, "forbidden")
    assert items.effects().created == 0


def test_without_a_known_token_nothing_is_answered(client: httpx.Client) -> None:
    for value in (b"", b"Bearer", b"Bearer x", b"Basic write", b"Bearer wri\xe9"):
        for path in ("/items", "/elsewhere"):
            answer = client.get(path, headers={b"Authorization": value})
            assert refused(answer) == (401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"


def test_a_database_that_cannot_be_used_is_unavailable(
    client: httpx.Client, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "items.db")) as db:
        db.execute("DROP TABLE items")
    assert refused(client.get("/items")) == (503, "unavailable")
    notice = {"item_id": "x", "message": "x"}
    assert refused(client.post("/notices", json=notice)) == (503, "unavailable")
    assert client.get("/notices").json() == {"count": 0, "notices": []}
