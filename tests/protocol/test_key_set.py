"""The issuer's key set over a real socket: how often it is fetched, and how long it counts."""

import asyncio
import time
from collections.abc import Generator
from datetime import timedelta

import pytest

from lib.machinery.gate.auth import Authenticator, Unauthenticated
from lib.machinery.gate.challenge import challenge
from lib.machinery.gate.decide import Grant
from lib.machinery.gate.jwks import (
    FETCH_LIMIT_S,
    FRESH,
    REFRESH_PAUSE,
    RETRY_PAUSE,
    STALE,
)
from tests.protocol.jwks import (
    AT,
    NOW,
    WAIT_LIMIT_S,
    Issuer,
    Signer,
    serve_issuer,
)

OLD, NEW, RSA = Signer.es256("k1"), Signer.es256("k2"), Signer.rs256("r1")
TICK = timedelta(milliseconds=1)
DAY_S = 86_400


@pytest.fixture
def issuer() -> Generator[Issuer]:
    with serve_issuer() as served:
        served.publish(OLD)
        yield served


async def ask(who: Authenticator, signer: Signer, *, after: timedelta = timedelta(0)) -> str:
    header = f"Bearer {signer.token(exp=AT + DAY_S)}"
    answer = await who.authenticate(header, now=NOW + after)
    return "granted" if isinstance(answer, Grant) else answer.reason


def ask_each(issuer: Issuer, *asked: tuple[Signer, timedelta]) -> list[tuple[str, int]]:
    """Ask one authenticator in turn; each from a loop of its own, as one process may."""
    who = issuer.authenticator()
    return [(asyncio.run(ask(who, signer, after=after)), issuer.fetches) for signer, after in asked]


def test_keys_are_fetched_with_the_first_token_and_kept_until_their_time_is_up(
    issuer: Issuer,
) -> None:
    assert ask_each(issuer, (OLD, timedelta(0)), (OLD, FRESH - TICK), (OLD, FRESH)) == [
        ("granted", 1),
        ("granted", 1),
        ("granted", 2),
    ]


def test_an_unknown_key_is_looked_for_once_and_then_not_for_a_while(issuer: Issuer) -> None:
    pause = REFRESH_PAUSE

    assert ask_each(
        issuer,
        (OLD, timedelta(0)),
        (NEW, pause - TICK),
        (NEW, pause),
        (NEW, 2 * pause - TICK),
        (OLD, 2 * pause - TICK),
    ) == [
        ("granted", 1),
        ("unknown_key", 2),
        ("unknown_key", 2),
        ("unknown_key", 3),
        ("granted", 3),
    ]


def test_rotation_takes_effect_at_the_first_token_of_the_new_key(issuer: Issuer) -> None:
    who = issuer.authenticator()

    async def rotate() -> list[str]:
        first = await ask(who, OLD)
        issuer.publish(OLD, NEW)
        second = await ask(who, NEW, after=REFRESH_PAUSE)
        third = await ask(who, OLD, after=REFRESH_PAUSE)
        issuer.publish(NEW)
        return [first, second, third, await ask(who, OLD, after=REFRESH_PAUSE + FRESH)]

    assert asyncio.run(rotate()) == ["granted", "granted", "granted", "unknown_key"]
    assert issuer.fetches == 3


def test_a_withdrawn_set_counts_at_once_and_is_not_taken_for_silence(issuer: Issuer) -> None:
    who = issuer.authenticator()
    assert asyncio.run(ask(who, OLD)) == "granted"
    issuer.publish()

    assert asyncio.run(ask(who, OLD, after=FRESH)) == "unknown_key"


@pytest.mark.parametrize(("signer", "answer"), [(OLD, "granted"), (NEW, "unknown_key")])
def test_callers_at_one_time_share_one_fetch(issuer: Issuer, signer: Signer, answer: str) -> None:
    who = issuer.authenticator()

    async def ask_at_once(start: timedelta) -> list[str]:
        issuer.may_answer.clear()
        # Whoever came first need not have read the clock first.
        skews = [timedelta(milliseconds=n) for n in (0, -4, 3, -2, 1)]
        asked = [asyncio.create_task(ask(who, signer, after=start + skew)) for skew in skews]
        assert await asyncio.to_thread(issuer.arrived.acquire, timeout=WAIT_LIMIT_S)
        issuer.may_answer.set()
        return await asyncio.gather(*asked)

    for fetches, start in enumerate((timedelta(0), 2 * FRESH), 1):  # each on a loop of its own
        assert asyncio.run(ask_at_once(start)) == [answer] * 5
        assert issuer.fetches == fetches


@pytest.mark.parametrize("is_dripping", [False, True], ids=["silent", "dripping"])
def test_a_slow_issuer_costs_new_callers_one_bounded_wait_together(
    issuer: Issuer, *, is_dripping: bool
) -> None:
    issuer.is_dripping = is_dripping
    issuer.may_answer.clear()
    who = issuer.authenticator()

    async def ask_at_once() -> list[str]:
        return await asyncio.gather(*(ask(who, OLD) for _ in range(5)))

    started = time.monotonic()
    assert asyncio.run(ask_at_once()) == ["keys_unavailable"] * 5
    assert FETCH_LIMIT_S - 0.1 <= time.monotonic() - started < 2 * FETCH_LIMIT_S
    assert issuer.fetches == 1


def test_known_callers_outlive_a_silent_issuer_for_a_while(issuer: Issuer) -> None:
    who = issuer.authenticator()
    assert asyncio.run(ask(who, OLD)) == "granted"
    issuer.status = 500

    async def ask_later(*times: timedelta) -> list[tuple[str, str, int]]:
        return [
            (await ask(who, OLD, after=t), await ask(who, NEW, after=t), issuer.fetches)
            for t in times
        ]

    assert asyncio.run(
        ask_later(FRESH, FRESH + RETRY_PAUSE - TICK, FRESH + RETRY_PAUSE, STALE - TICK, STALE)
    ) == [
        ("granted", "keys_unavailable", 2),
        ("granted", "keys_unavailable", 2),
        ("granted", "keys_unavailable", 3),
        ("granted", "keys_unavailable", 4),
        ("keys_unavailable", "keys_unavailable", 4),
    ]
    issuer.status = 200
    assert asyncio.run(ask(who, OLD, after=STALE + RETRY_PAUSE)) == "granted"


def test_a_caller_who_hangs_up_neither_stops_the_others_nor_leaves_a_task(issuer: Issuer) -> None:
    who = issuer.authenticator()

    async def hang_up() -> tuple[str, int]:
        issuer.may_answer.clear()
        first = asyncio.create_task(ask(who, OLD))
        assert await asyncio.to_thread(issuer.arrived.acquire, timeout=WAIT_LIMIT_S)
        first.cancel()
        issuer.may_answer.set()
        answer = await ask(who, OLD)
        return answer, len(asyncio.all_tasks())

    assert asyncio.run(hang_up()) == ("granted", 1)


def test_a_clock_that_was_set_back_does_not_keep_a_failure_longer(issuer: Issuer) -> None:
    who = issuer.authenticator()
    issuer.status = 500
    assert asyncio.run(ask(who, OLD)) == "keys_unavailable"
    issuer.status = 200

    assert asyncio.run(ask(who, OLD, after=-RETRY_PAUSE)) == "keys_unavailable"
    assert asyncio.run(ask(who, OLD, after=timedelta(days=-1))) == "granted"


def test_a_clock_that_was_set_back_does_not_keep_keys_longer(issuer: Issuer) -> None:
    assert ask_each(issuer, (OLD, timedelta(0)), (OLD, timedelta(days=-1))) == [
        ("granted", 1),
        ("granted", 2),
    ]


def test_a_caller_told_to_come_back_finds_the_keys_looked_for_again(issuer: Issuer) -> None:
    who = issuer.authenticator()
    issuer.status = 500
    assert asyncio.run(ask(who, OLD)) == "keys_unavailable"
    issuer.status = 200

    told_s = challenge(Unauthenticated("keys_unavailable"), scopes=()).headers["Retry-After"]
    assert asyncio.run(ask(who, OLD, after=timedelta(seconds=int(told_s)))) == "granted"
