"""The record and its names: what is written is read back, and anything else is unreadable."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as some

from lib.contract import Principal
from lib.machinery.outcome import Fault
from lib.machinery.runner.record import (
    DAY_MS,
    OPEN_TTL_MS,
    Guarantee,
    Record,
    Seen,
    Unreadable,
    common,
    decode,
    encode,
    open_index,
    operation,
    store_key,
)

WHO = Principal(issuer="https://issuer.example", subject="ann")
RECORD = Record(
    state="committed",
    tool="create_order",
    backend=Guarantee(kind="keyed", window_ms=86_400_000, sticky=True, can_ask=True),
    fingerprint="f" * 64,
    reference="r" * 64,
    principal=WHO,
    attempt="a",
    lease_ms=65_000,
    horizon_ms=125_000,
    answer='{"id":"é"}',
    digest="d",
    fault=Fault("late", "It took a while."),
    conflicts=1,
    conflict="{}",
)


def test_a_record_is_read_back_as_it_was_written() -> None:
    seen = decode(encode(RECORD), pttl_ms=RECORD.ttl_ms - 7)
    assert seen == Seen(record=RECORD, text=encode(RECORD), age_ms=7)


def changed(**more: Any) -> str:
    return json.dumps({**json.loads(encode(RECORD)), **more})


def without(name: str) -> str:
    fields = json.loads(encode(RECORD))
    del fields[name]
    return json.dumps(fields)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "not json",
        "[]",
        changed(v=2),
        changed(state="done"),
        changed(epoch="1"),
        changed(added_later=True),
        changed(answer="{{"),
        changed(backend={"kind": "magic"}),
        without("v"),
        without("fingerprint"),
        encode(RECORD)[:-1],
    ],
)
def test_anything_else_is_unreadable(text: str) -> None:
    assert decode(text, pttl_ms=RECORD.ttl_ms) == Unreadable()


@pytest.mark.parametrize("pttl_ms", [-1, -2, OPEN_TTL_MS + 1])
def test_a_record_without_a_sound_age_is_unreadable(pttl_ms: int) -> None:
    assert decode(encode(replace(RECORD, ttl_ms=OPEN_TTL_MS)), pttl_ms=pttl_ms) == Unreadable()


def test_an_operation_has_one_name_and_another_reference() -> None:
    one, again = operation("production", WHO, "k"), operation("production", WHO, "k")
    assert one == again
    assert one.id != one.reference
    assert store_key(one.id) == f"settle:1:{one.id}"
    assert open_index("preview") == "settle:1:open:preview"


def test_no_part_of_a_name_can_imitate_another() -> None:
    # titen #104, margince #5315: the scope is the principal. A delimiter could be injected.
    parts = [
        ("production", "i", "s", "k"),
        ("preview", "i", "s", "k"),
        ("production", "j", "s", "k"),
        ("production", "i", "t", "k"),
        ("production", "i", "s", "l"),
        ("production", "is", "", "k"),
        ("production", "", "is", "k"),
        ("production", "i", "sk", ""),
        ("productioni", "", "s", "k"),
        ("production", "i", "s\x00", "k"),
        ("production", "i", "s", "\x00k"),
    ]
    names = {operation(e, Principal(issuer=i, subject=s), k).id for e, i, s, k in parts}
    assert len(names) == len(parts)


@given(some.text(), some.integers(min_value=0, max_value=2**53 - 1))
def test_a_record_is_written_as_the_canonicalisation_scheme_says(text: str, ms: int) -> None:
    record = replace(RECORD, answer=text, fault=Fault(text, text), lease_ms=ms, tool=text)
    assert encode(record) == rfc8785.dumps({"v": 1, **asdict(record)}).decode()


KEYED = Guarantee(kind="keyed", window_ms=DAY_MS, sticky=True)
SHORT = Guarantee(kind="keyed", window_ms=DAY_MS // 24)
KEYED_ASK = Guarantee(kind="keyed", window_ms=DAY_MS, can_ask=True, settle_ms=7)
UNIQUE, NONE = Guarantee(kind="unique"), Guarantee(kind="none")
LOOKUP = Guarantee(kind="lookup", can_ask=True, settle_ms=3_600_000)


@pytest.mark.parametrize("one", [KEYED, SHORT, KEYED_ASK, UNIQUE, NONE, LOOKUP])
@pytest.mark.parametrize("other", [KEYED, SHORT, KEYED_ASK, UNIQUE, NONE, LOOKUP])
def test_what_two_classes_promise_in_common_neither_exceeds(
    one: Guarantee, other: Guarantee
) -> None:
    both = common(one, other)
    assert both.can_ask == (one.can_ask and other.can_ask)
    assert dedupes(both) == (dedupes(one) and one.kind == other.kind)
    windows = {each.window_ms for each in (one, other) if each.window_ms}
    assert both.window_ms == (min(windows, default=None) if dedupes(both) else None)
    assert (common(both, other), common(one, one)) == (both, one)
    assert both.sticky == (one.sticky and other.sticky)
    assert both.settle_ms == max(one.settle_ms, other.settle_ms)


def dedupes(promise: Guarantee) -> bool:
    return promise.kind in {"keyed", "unique"}
