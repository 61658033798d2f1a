"""The planned faults do on a real socket what they say, with httpx as the witness."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

import anyio
import httpx
import pytest

from lib.dev import faults
from lib.dev.faulty import Seen, call
from lib.dev.items import Items, create_items
from lib.dev.serving import serve
from lib.dev.wire import Cut

READER, WRITER = "read", "write"
WRITE = {"Authorization": f"Bearer {WRITER}"}
BODY = b'{"name":"bolt","quantity":3}'
KEY = {"Idempotency-Key": "k"}


@pytest.fixture
def written() -> Event:
    return Event()


@pytest.fixture
def items(tmp_path: Path, written: Event) -> Items:
    return create_items(
        tmp_path / "items.db",
        read_token=READER,
        write_token=WRITER,
        on_written=lambda _: written.set(),
    )


@pytest.fixture
def client(items: Items) -> Generator[httpx.Client]:
    with serve(items) as served, httpx.Client(base_url=served.url, headers=WRITE) as client:
        yield client


def create(client: httpx.Client) -> httpx.Response:
    return client.post("/items", content=BODY, headers=KEY)


def send_notice(client: httpx.Client) -> httpx.Response:
    item_id = client.get("/items").json()["items"][0]["id"]
    return client.post("/notices", json={"item_id": item_id, "message": "x"})


def test_a_reset_before_execution_leaves_no_effect(client: httpx.Client, items: Items) -> None:
    items.faults.plan(faults.ResetBefore())
    with pytest.raises(httpx.ReadError):
        create(client)
    assert items.effects().created == 0
    assert items.faults.fired == (faults.ResetBefore(),)


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (faults.AnswerLost(), httpx.RemoteProtocolError),
        (faults.AnswerLost(is_reset=True), httpx.ReadError),
        (faults.HalfAnswer(), httpx.RemoteProtocolError),
    ],
)
def test_a_lost_answer_leaves_the_effect_and_the_key_finds_it(
    client: httpx.Client, items: Items, fault: faults.Fault, seen: type[Exception]
) -> None:
    items.faults.plan(fault, on=call("POST", "/items"))
    with pytest.raises(seen):
        create(client)
    assert items.effects().created == 1
    assert create(client).headers["idempotency-replayed"] == "true"
    assert items.effects().created == 1


def test_half_an_answer_has_a_head_and_half_a_body(client: httpx.Client, items: Items) -> None:
    whole = create(client)
    items.faults.plan(faults.HalfAnswer())
    with client.stream("POST", "/items", content=BODY, headers=KEY) as answer:
        parts: list[bytes] = []
        with pytest.raises(httpx.RemoteProtocolError):
            parts.extend(answer.iter_raw(1))
    assert (answer.status_code, answer.headers["content-length"]) == (201, str(len(whole.content)))
    assert b"".join(parts) == whole.content[: len(whole.content) // 2]


def test_an_unreadable_body_says_that_it_occurred(client: httpx.Client, items: Items) -> None:
    items.faults.plan(faults.UnreadableBody())
    answer = create(client)
    assert (answer.status_code, answer.headers["content-type"]) == (201, "application/json")
    with pytest.raises(ValueError, match="utf-8"):
        answer.json()
    assert items.effects().created == 1


@pytest.mark.parametrize("at", ["before", "after"])
def test_a_replaced_answer_tells_nothing_about_the_effect(
    client: httpx.Client, items: Items, at: faults.Moment
) -> None:
    items.faults.plan(faults.bad_gateway(at))
    items.faults.plan(faults.unavailable(at))
    page, busy = create(client), create(client)
    assert (page.status_code, page.headers["content-type"]) == (502, "text/html")
    assert page.text.startswith("<html>")
    assert (busy.status_code, busy.json()["error"]["code"]) == (503, "unavailable")
    assert items.effects().created == (at == "after")


def test_a_rate_limit_says_when_to_come_back(client: httpx.Client, items: Items) -> None:
    items.faults.plan(faults.rate_limited(7))
    items.faults.plan(faults.refusal(409, "conflict"))
    limited, conflict = create(client), create(client)
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "7")
    assert limited.json()["error"]["code"] == "rate_limited"
    assert (conflict.status_code, conflict.json()["error"]["code"]) == (409, "conflict")
    assert items.effects().created == 0


def test_a_delivery_repeated_by_the_network_is_executed_twice(
    client: httpx.Client, items: Items
) -> None:
    items.faults.plan(faults.DeliveredTwice(), count=2)
    created = create(client)
    notice = send_notice(client)
    assert (created.status_code, "idempotency-replayed" in created.headers) == (201, False)
    assert notice.status_code == 202
    assert (items.effects().created, items.effects().notices) == (1, 1)
    send_notice(client)
    assert items.effects().notices == 2


@pytest.mark.parametrize("instead", [faults.bad_gateway("before").answer, Cut(is_reset=False)])
def test_a_late_landing_is_executed_after_the_client_was_answered(
    client: httpx.Client, items: Items, instead: Any
) -> None:
    opened = Event()
    items.faults.plan(faults.LandsLate(opened, instead))
    try:
        assert create(client).status_code == 502
    except httpx.RemoteProtocolError:
        assert isinstance(instead, Cut)
    assert items.effects().created == 0
    opened.set()
    assert items.faults.wait_landed()
    assert items.effects().created == 1


def test_a_retry_overtakes_a_late_landing_under_the_same_key(
    client: httpx.Client, items: Items
) -> None:
    opened = Event()
    items.faults.plan(faults.LandsLate(opened))
    create(client)
    retried = create(client)
    opened.set()
    assert items.faults.wait_landed()
    assert (retried.status_code, "idempotency-replayed" in retried.headers) == (201, False)
    assert items.effects().created == 1


@pytest.mark.parametrize("at", ["before", "after"])
def test_a_held_request_waits_on_its_side_of_the_execution(
    client: httpx.Client, items: Items, written: Event, at: faults.Moment
) -> None:
    opened = Event()
    items.faults.plan(faults.Held(at, opened))
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(create, client)
        assert items.faults.wait_fired()
        assert written.wait(5 if at == "after" else 0) == (at == "after")
        assert not held.done()
        opened.set()
        assert held.result(5).status_code == 201
    assert items.effects().created == 1


def test_a_delay_longer_than_the_patience_of_the_client_is_a_read_timeout(
    client: httpx.Client, items: Items
) -> None:
    items.faults.plan(faults.Held("after", 0.5))
    with pytest.raises(httpx.ReadTimeout):
        client.post("/items", content=BODY, headers=KEY, timeout=0.2)
    assert items.effects().created == 1


def test_a_plan_meets_only_what_it_names_until_its_count_is_used_up(
    client: httpx.Client, items: Items
) -> None:
    items.faults.plan(faults.rate_limited(1), on=call("POST", "/items"), count=2)
    items.faults.plan(faults.unavailable("before"), on=call("GET", "/notices"), count=None)
    posts = [create(client).status_code for _ in range(3)]
    notices = [client.get("/notices").status_code for _ in range(3)]
    assert (posts, notices) == ([429, 429, 201], [503, 503, 503])
    assert client.get("/items").status_code == 200
    assert items.faults.wait_fired(5)
    assert not items.faults.wait_fired(6, timeout_s=0)
    items.faults.clear()
    assert client.get("/notices").status_code == 200


def test_every_request_is_seen_with_its_headers_also_one_that_was_cut(
    client: httpx.Client, items: Items
) -> None:
    items.faults.plan(faults.ResetBefore(), on=call("PATCH"))
    create(client)
    with pytest.raises(httpx.ReadError):
        client.patch("/items/x", content=b"{}", headers={"X-Reference": "r"})
    first, second = items.faults.seen
    digest = sha256(BODY).hexdigest()
    assert first == Seen(
        method="POST", path="/items", idempotency_key="k", reference=None, body_sha256=digest
    )
    assert (second.method, second.path, second.reference) == ("PATCH", "/items/x", "r")


def test_a_cut_in_process_is_the_same_exception(items: Items) -> None:
    async def cut() -> None:
        transport = httpx.ASGITransport(items)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            await client.post("/items", content=BODY, headers=WRITE | KEY)

    for fault, seen in (
        (faults.ResetBefore(), httpx.ReadError),
        (faults.AnswerLost(), httpx.RemoteProtocolError),
        (faults.HalfAnswer(), httpx.RemoteProtocolError),
    ):
        items.faults.plan(fault)
        with pytest.raises(seen):
            anyio.run(cut)
    assert items.effects().created == 1
