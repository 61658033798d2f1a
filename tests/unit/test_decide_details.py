"""What PROTOCOL §4 to §7 say about single numbers and names, beside the table itself."""

from dataclasses import replace
from typing import Literal

import pytest

from lib.contract import Principal
from lib.machinery.outcome import Fault, InDoubt, NotExecuted, Outcome, Succeeded
from lib.machinery.runner import events as ev
from lib.machinery.runner.decide import decide, may_send, timed
from lib.machinery.runner.record import DAY_MS, Guarantee, Record
from lib.machinery.runner.transitions import CONFLICT

LEASE, SETTLE = 65_000, 60_000
HORIZON = LEASE + SETTLE
FAULT = Fault("refused")


def fresh(
    attempt: str = "me", kind: Literal["keyed", "unique", "lookup", "none"] = "none"
) -> Record:
    return Record(
        state="started",
        tool="create_item",
        backend=Guarantee(kind=kind, window_ms=DAY_MS, can_ask=kind == "lookup"),
        fingerprint="ours",
        reference="ref",
        principal=Principal(issuer="i", subject="s"),
        attempt=attempt,
        lease_ms=LEASE,
        horizon_ms=HORIZON,
    )


def _outcome(decision: ev.Decision) -> Outcome:
    assert isinstance(decision.verdict, ev.Tell)
    return decision.verdict.outcome


def test_the_key_window_is_nine_tenths_to_the_millisecond() -> None:
    doubtful = replace(fresh("other", "keyed"), state="in_doubt", doubt=True, elapsed_ms=1_000)
    last = 9 * DAY_MS // 10 - LEASE - 1_000
    claim = ev.Claim(own=fresh("me", "keyed"))
    assert isinstance(decide(doubtful, last, claim).verdict, ev.Run)
    assert isinstance(_outcome(decide(doubtful, last + 1, claim)), InDoubt)


@pytest.mark.parametrize(("was_sent", "horizon_ms"), [(True, SETTLE), (False, HORIZON - 7)])
def test_only_an_attempt_that_may_have_sent_moves_the_horizon(
    was_sent: bool,  # noqa: FBT001  a parameter of the test
    horizon_ms: int,
) -> None:
    own = fresh("me", "lookup")
    decision = decide(own, 7, ev.NoEvidence(own=own, fault=FAULT, was_sent=was_sent))
    assert isinstance(decision, ev.Write)
    assert (decision.record.horizon_ms, decision.record.elapsed_ms) == (horizon_ms, 7)


@pytest.mark.parametrize(("fault", "after_ms"), [(Fault("conflict"), 1_000), (CONFLICT, None)])
@pytest.mark.parametrize("mode", ["run", "reconcile"])
def test_a_conflict_is_what_the_backend_shows_and_not_a_fault_of_that_name(
    fault: Fault, after_ms: int | None, mode: Literal["run", "reconcile"]
) -> None:
    own = replace(fresh("me", "unique"), doubt=True, mode=mode)
    told = _outcome(decide(own, 0, ev.NoEvidence(own=own, fault=fault)))
    assert isinstance(told, InDoubt)
    assert told.after_ms == after_ms


def test_a_success_that_cannot_be_read_contradicts_nothing() -> None:
    first = replace(fresh("other"), state="committed", answer="a", digest="a")
    decision = decide(first, 0, ev.Occurred(own=fresh(), answer=None))
    assert decision == ev.Keep(ev.Tell(Succeeded(answer="a", this_call="executed")))


@pytest.mark.parametrize(("kind", "after_ms"), [("keyed", 1_000), ("none", None)])
def test_a_lost_record_leads_to_a_retry_only_where_that_is_harmless(
    kind: Literal["keyed", "none"], after_ms: int | None
) -> None:
    told = _outcome(decide(None, 0, ev.NoEvidence(own=fresh("me", kind), fault=FAULT)))
    assert told == InDoubt(fault=FAULT, after_ms=after_ms, was_sent=True)


@pytest.mark.parametrize("kind", ["lookup", "none"])
def test_the_doubt_of_a_lost_record_is_kept_where_a_retry_would_run_again(
    kind: Literal["lookup", "none"],
) -> None:
    own = fresh("me", kind)
    kept = decide(None, 0, ev.NoEvidence(own=own, fault=FAULT))
    assert isinstance(kept, ev.Write)
    assert (kept.record.state, kept.record.doubt) == ("in_doubt", True)
    again = decide(kept.record, 0, ev.Claim(own=replace(own, attempt="next")))
    assert not isinstance(again.verdict, ev.Run)


def test_an_operators_word_about_one_record_says_nothing_of_the_next() -> None:
    seen = fresh("other")
    now = replace(seen, attempt="third", epoch=2)
    word = ev.Resolve(seen=seen, occurred=False, fault=FAULT)
    assert isinstance(decide(now, HORIZON, word), ev.Keep)
    assert isinstance(decide(seen, HORIZON, word), ev.Write)


def test_a_release_says_when_to_come_back() -> None:
    own = fresh()
    told = _outcome(decide(own, 0, ev.NotDone(own=own, fault=FAULT, after_ms=0)))
    assert told == NotExecuted(fault=FAULT, after_ms=0)


@pytest.mark.parametrize(
    ("remaining_s", "lease_left_s", "may"),
    [(4.0, 0.001, True), (3.999, 9.0, False), (0.0, 9.0, False), (4.0, 0.0, False)],
)
def test_nothing_is_sent_without_time_to_hear_and_to_write(
    remaining_s: float,
    lease_left_s: float,
    may: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    assert may == may_send(remaining_s=remaining_s, lease_left_s=lease_left_s, commit_budget_s=3.0)


def test_what_trips_to_the_store_take_counts_against_the_key_window() -> None:
    own = fresh("me", "keyed")
    report = ev.NoEvidence(own=own, fault=FAULT)
    claim = ev.Claim(own=replace(own, attempt="next"))
    doubted = timed(decide(own, 7, report), age_ms=7, lag_ms=5)
    taken = timed(decide(own, own.lease_ms, claim), age_ms=own.lease_ms, lag_ms=5)
    assert isinstance(doubted, ev.Write)
    assert isinstance(taken, ev.Write)
    assert doubted.record.elapsed_ms == 12
    assert taken.record.elapsed_ms == own.lease_ms + 5
    assert taken.verdict == ev.Run(taken.record)


def test_a_settled_record_still_knows_when_it_began() -> None:
    own = fresh("me", "keyed")
    done = timed(decide(own, 7, ev.Occurred(own=own, answer="{}")), age_ms=7, lag_ms=5)
    assert isinstance(done, ev.Write)
    assert (done.record.state, done.record.elapsed_ms) == ("committed", 12)
