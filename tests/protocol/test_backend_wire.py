"""What a backend's answer proves, row by row of PROTOCOL §6, to every call through the client."""

import asyncio
from typing import Any

import httpx
import pytest
import respx

from lib.backend.items import MEANINGS, Accepted, Item, Items
from lib.contract import BackendError, Page
from tests.protocol.backend_calls import (
    ASK,
    COMMAND,
    COMMANDS,
    EVERY,
    ITEM,
    QUERIES,
    QUESTIONS,
    each,
    items_at,
    proofs,
)

PLAIN_REFUSAL = ("RefusedError", "refused", None)
UNCLEAR = ("BackendSilentError", "unclear", None)
PAGES = (b"", b"<html>", b"[1]", b'{"error":"no"}', b"\xff", b"[" * 9999, b"9" * 5000)


def refusal(status: int, code: object, **headers: str) -> httpx.Response:
    error = {"code": code, "message": "SECRET text for people"}
    return httpx.Response(status, json={"error": error}, headers=headers)


@pytest.mark.parametrize(
    ("status", "code"),
    [(403, "forbidden"), (409, "conflict"), (422, "key_reused"), (422, "invalid")],
)
def test_a_refusal_that_the_adapter_lists_keeps_its_code(status: int, code: str) -> None:
    assert proofs(EVERY, [refusal(status, code)]) == each(EVERY, ("RefusedError", code, None))


def test_a_404_is_not_found_and_in_answer_to_the_question_about_a_change_it_is_none() -> None:
    acts = {**QUERIES, **COMMANDS}
    assert proofs(acts, [refusal(404, "not_found")]) == each(
        acts, ("RefusedError", "not_found", None)
    )
    assert proofs(ASK, [refusal(404, "not_found")]) == each(ASK, [])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 412, 413, 415, 422])
def test_a_code_the_backend_invents_is_a_plain_refusal(status: int) -> None:
    assert proofs(EVERY, [refusal(status, "invented")]) == each(EVERY, PLAIN_REFUSAL)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 412, 413, 415, 422])
def test_a_refusing_status_refuses_whatever_its_body_is(status: int) -> None:
    answers = [httpx.Response(status, content=page) for page in PAGES]
    assert proofs(EVERY, answers) == each(EVERY, *[PLAIN_REFUSAL] * len(PAGES))


def test_a_409_that_does_not_say_what_it_is_may_be_a_duplicate_and_proves_nothing() -> None:
    answers = [refusal(409, code) for code in (None, 7, ["conflict"], "")]
    answers += [httpx.Response(409, content=page) for page in PAGES]
    assert proofs(EVERY, answers) == each(EVERY, *[UNCLEAR] * len(answers))


@pytest.mark.parametrize(
    "status", [300, 301, 302, 303, 307, 308, 402, 408, 418, 500, 501, 502, 503, 504, 599, 999]
)
def test_a_redirect_a_time_out_and_a_broken_backend_prove_nothing(status: int) -> None:
    headers = {"Location": "http://elsewhere.test/", "Retry-After": "1"}
    page = httpx.Response(status, html="<h1>Bad Gateway</h1>", headers=headers)
    answers = [page, refusal(status, "invented", **headers)]
    assert proofs(EVERY, answers) == each(EVERY, UNCLEAR, UNCLEAR)


def test_a_503_keeps_its_code_and_still_proves_nothing() -> None:
    silent = ("BackendSilentError", "unavailable", None)
    assert proofs(EVERY, [refusal(503, "unavailable")]) == each(EVERY, silent)


def test_a_key_in_use_stays_in_doubt_for_five_seconds() -> None:
    answer = refusal(409, "key_in_use", **{"Retry-After": "60"})
    assert proofs(EVERY, [answer]) == each(EVERY, ("BackendSilentError", "key_in_use", 5_000))


def test_a_duplicate_says_that_it_occurred_except_in_answer_to_a_question() -> None:
    answer = [refusal(409, "duplicate")]
    assert proofs(COMMANDS, answer) == each(COMMANDS, ("OccurredError", "duplicate", None))
    assert proofs(QUESTIONS, answer) == each(QUESTIONS, PLAIN_REFUSAL)


@pytest.mark.parametrize(
    ("retry_after", "after_ms"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("0", 0),
        ("7", 7_000),
        ("1.5", 1_500),
        ("-3", 0),
        ("3601", 3_600_000),
        ("9" * 300, 3_600_000),
        ("Sun, 06 Nov 1994 08:49:47 GMT", 10_000),
        ("Sunday, 06-Nov-94 08:49:47 GMT", 10_000),
        ("Sun Nov  6 08:49:47 1994", 10_000),
        ("Sun, 06 Nov 1994 08:49:00 GMT", 0),
        ("Sun, 06 Nov 2094 08:49:37 GMT", 3_600_000),
        ("Sun, 06 Nov 1994 08:49:37 +9999", None),
        ("Mon, 01 Jan 99999 00:00:00 GMT", None),
    ],
)
def test_a_request_turned_away_was_not_executed_and_may_come_back(
    retry_after: str | None, after_ms: int | None
) -> None:
    headers = {"Date": "Sun, 06 Nov 1994 08:49:37 GMT"}
    headers |= {} if retry_after is None else {"Retry-After": retry_after}
    for status, code in ((425, "too_early"), (429, "rate_limited")):
        page = httpx.Response(status, html="<h1>Busy</h1>", headers=headers)
        answers = [page, refusal(status, "invented", **headers)]
        told = ("NotExecutedError", code, after_ms)
        assert proofs(EVERY, answers) == each(EVERY, told, told)


def test_a_date_without_the_backends_own_clock_counts_from_its_arrival() -> None:
    dates = [f"Sat, 06 Nov {year} 08:49:37 GMT" for year in (1994, 2094)]
    answers = [httpx.Response(429, headers={"Retry-After": date}) for date in dates]
    told = [("NotExecutedError", "rate_limited", after_ms) for after_ms in (0, 3_600_000)]
    assert proofs(EVERY, answers) == each(EVERY, *told)


@pytest.mark.parametrize("status", [200, 201, 202, 206, 299])
def test_a_success_that_cannot_be_read_occurred(status: int) -> None:
    pages = [*PAGES, b'{"id":', b"null", b"{}", b'{"id":null}', b"NaN", b'{"id":"\\ud800"}']
    pages += [b'{"items":7}', b"x" * (1024 * 1024 + 1)]
    answers = [httpx.Response(status, content=page) for page in pages]
    occurred = ("OccurredError", "answer_unreadable", None)
    silent = ("BackendSilentError", "answer_unreadable", None)
    assert proofs(COMMANDS, answers) == each(COMMANDS, *[occurred] * len(answers))
    assert proofs(QUESTIONS, answers) == each(QUESTIONS, *[silent] * len(answers))


def test_an_answer_above_one_mebibyte_is_not_read_though_it_is_well_formed() -> None:
    body = ITEM | {"accepted": True}
    long = [httpx.Response(200, json=body | {"more": "x" * size}) for size in (1000, 1024 * 1024)]
    readable, unreadable = zip(*proofs(COMMANDS, long).values(), strict=True)
    assert all(isinstance(result, Item | Accepted) for result in readable)
    assert set(unreadable) == {("OccurredError", "answer_unreadable", None)}


def test_a_success_is_its_declared_fields_and_nothing_else() -> None:
    item, more = Item.model_validate(ITEM), ITEM | {"owner": "SECRET"}
    listing = {"items": [more], "next_cursor": "c", "total": 9}
    page = Page[Item](items=[item], next_cursor="c")
    bodies: dict[str, Any] = {"page": listing, "search": listing, "notify": {"accepted": True}}
    results: dict[str, object] = {"page": page, "search": page, "notify": Accepted(accepted=True)}
    for name, act in {**QUERIES, **COMMANDS}.items():
        answer = httpx.Response(200, json=bodies.get(name, more))
        assert proofs({name: act}, [answer]) == {name: [results.get(name, item)]}


@pytest.mark.parametrize("status", [401, 403, 410, 422])
def test_absence_under_another_status_than_404_is_not_believed(status: int) -> None:
    async def asked(items: Items) -> BackendError:
        with pytest.raises(BackendError) as error:
            await items.changes_made(COMMAND)
        return error.value

    with respx.mock() as wire:
        wire.route().mock(return_value=refusal(status, "not_found"))
        error = asyncio.run(asked(items_at()))
    assert error.code == "refused"


@pytest.mark.parametrize("code", MEANINGS.sentences)
def test_a_listed_code_reads_its_own_sentence_and_never_the_backends(code: str) -> None:
    async def told(items: Items) -> BackendError:
        with pytest.raises(BackendError) as error:
            await items.create("bolt", 3, COMMAND)
        return error.value

    # Absence is believed of a 404 only; every other code may stand under any status.
    for status in (404,) if code == "not_found" else (422, 429, 503):
        with respx.mock() as wire:
            wire.route().mock(return_value=refusal(status, code))
            error = asyncio.run(told(items_at()))
        assert (error.code, error.message) == (code, MEANINGS.sentences[code])
        assert "SECRET" not in repr(vars(error))
