"""The transition table against PROTOCOL §4, stated again as data: each question has one row."""

from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from lib.contract import Principal
from lib.machinery.outcome import Fault, Succeeded
from lib.machinery.runner import events as ev
from lib.machinery.runner.decide import decide
from lib.machinery.runner.record import DAY_MS, Guarantee, Record

LEASE, SETTLE = 65_000, 60_000
HORIZON = LEASE + SETTLE
FAULT = Fault("refused")

CLASSES = {
    "keyed": Guarantee(kind="keyed", window_ms=DAY_MS),
    "keyed_over": Guarantee(kind="keyed", window_ms=LEASE),
    "sticky": Guarantee(kind="keyed", window_ms=DAY_MS, sticky=True),
    "keyed_ask": Guarantee(kind="keyed", window_ms=DAY_MS, can_ask=True),
    "keyed_ask_over": Guarantee(kind="keyed", window_ms=LEASE, can_ask=True),
    "unique": Guarantee(kind="unique"),
    "lookup": Guarantee(kind="lookup", can_ask=True),
    "none": Guarantee(kind="none"),
}


def fresh(attempt: str = "me", kind: str = "none") -> Record:
    return Record(
        state="started",
        tool="create_item",
        backend=CLASSES[kind],
        fingerprint="ours",
        reference="ref",
        principal=Principal(issuer="i", subject="s"),
        attempt=attempt,
        lease_ms=LEASE,
        horizon_ms=HORIZON,
    )


@cache
def stored(state: str, kind: str) -> tuple[Record | None, int]:
    mine, other = fresh("me", kind), fresh("other", kind)
    in_doubt = replace(other, state="in_doubt", doubt=True, horizon_ms=SETTLE, fault=FAULT)
    done = replace(other, state="committed", answer="a", digest="a")
    return {
        "absent": (None, 0),
        "live": (other, LEASE - 1),
        "mine": (mine, LEASE - 1),
        "mine_doubt": (replace(mine, doubt=True), 0),
        "asking": (replace(mine, mode="reconcile", doubt=True, horizon_ms=SETTLE), 0),
        "dead": (other, LEASE),
        "dead_mine_doubt": (replace(mine, doubt=True), LEASE),
        "dead_due": (other, HORIZON),
        "in_doubt": (in_doubt, SETTLE - 1),
        "in_doubt_due": (in_doubt, SETTLE),
        "committed": (done, 0),
        "rejected": (replace(other, state="rejected", fault=FAULT), HORIZON),
        "foreign": (replace(done, fingerprint="theirs"), HORIZON),
    }[state]


def event_of(name: str, kind: str, record: Record | None) -> ev.Event:
    is_mine = record is not None and record.state == "started" and record.attempt == "me"
    own = record if record is not None and is_mine else fresh("me", kind)

    def absent(asked_age_ms: int, lease_ms: int | None) -> ev.Event:
        return ev.Absent(
            own=own, fault=FAULT, was_sent=False, asked_age_ms=asked_age_ms, lease_ms=lease_ms
        )

    return {
        "claim": lambda: ev.Claim(own=fresh("me", kind)),
        "sweep": lambda: ev.Sweep(attempt="me", lease_ms=LEASE),
        "success": lambda: ev.Occurred(own=own, answer="a", digest="a"),
        "other_success": lambda: ev.Occurred(own=own, answer="b", digest="b"),
        "recovered": lambda: ev.Occurred(own=own, answer="b", digest="b", was_recovered=True),
        "refused": lambda: ev.Refused(own=own, fault=FAULT),
        "by_key": lambda: ev.RefusedByKey(own=own, fault=FAULT),
        "refused_after_silence": lambda: ev.Refused(own=own, fault=FAULT, doubt=True),
        "not_done": lambda: ev.NotDone(own=own, fault=FAULT),
        "not_done_after_silence": lambda: ev.NotDone(own=own, fault=FAULT, doubt=True),
        "no_evidence": lambda: ev.NoEvidence(own=own, fault=FAULT),
        "absent_early": lambda: absent(SETTLE - 1, LEASE),
        "absent_late": lambda: absent(SETTLE, LEASE),
        "absent_late_swept": lambda: absent(SETTLE, None),
        "occurred": lambda: ev.Resolve(seen=record or own, occurred=True, fault=FAULT),
        "not_occurred": lambda: ev.Resolve(seen=record or own, occurred=False, fault=FAULT),
    }[name]()


MINE = "mine mine_doubt"
DEAD = "dead dead_mine_doubt dead_due"
DOUBT = "in_doubt in_doubt_due"
OPEN = f"live {MINE} asking {DEAD} {DOUBT}"
OWNED_DOUBT = "mine_doubt asking dead_mine_doubt"
NOT_OWNED = f"live dead dead_due {DOUBT} committed rejected"
SUCCESS = "success other_success recovered"
REFUSED = "refused by_key"
SILENCE = "refused_after_silence not_done_after_silence"
ABSENT = "absent_early absent_late absent_late_swept"
REPORTS = f"{REFUSED} {SILENCE} not_done no_evidence {ABSENT}"
RESOLVE = "occurred not_occurred"
RUNS = "keyed sticky keyed_ask unique"
ASKS = "lookup keyed_ask_over"
CAN_ASK = "lookup keyed_ask keyed_ask_over"
STUCK = "none keyed_over"
CANNOT = f"{STUCK} keyed sticky unique"
UNSTICKY = "keyed keyed_over keyed_ask keyed_ask_over unique lookup none"
REPEATABLE = "keyed keyed_over keyed_ask keyed_ask_over sticky unique"
ALL = " ".join(CLASSES)
WHAT_IS = "what the record says"

# record, event, class: what it becomes, what the caller gets. ":" stands before what changed.
ROWS = (
    ("absent", "claim", ALL, "started: run 1", "run"),
    ("foreign", "claim", ALL, "same", "KeyReused"),
    (MINE, "claim", ALL, "same", "run"),
    ("asking", "claim", ALL, "same", "ask"),
    ("live", "claim", ALL, "same", "InProgress"),
    (f"{DEAD} {DOUBT}", "claim", RUNS, "started: run 2 doubt", "run"),
    (f"{DEAD} {DOUBT}", "claim", ASKS, "started: reconcile 2 doubt", "ask"),
    (DEAD, "claim", STUCK, "in_doubt", "InDoubt"),
    (DOUBT, "claim", STUCK, "same", "InDoubt"),
    ("committed rejected", "claim", ALL, "same", WHAT_IS),
    ("absent", f"sweep {RESOLVE}", ALL, "same", "InDoubt"),
    (f"live {MINE} asking", "sweep", ALL, "same", "InProgress"),
    (f"{DEAD} {DOUBT}", "sweep", CAN_ASK, "started: reconcile 2 doubt", "ask"),
    (DEAD, "sweep", CANNOT, "in_doubt", "InDoubt"),
    (DOUBT, "sweep", CANNOT, "same", "InDoubt"),
    ("committed rejected foreign", "sweep", ALL, "same", WHAT_IS),
    (f"absent {OPEN}", SUCCESS, ALL, "committed", "Succeeded"),
    ("rejected", SUCCESS, ALL, "committed: conflict", "Succeeded"),
    ("committed", "success recovered", ALL, "same", "Succeeded"),
    ("committed", "other_success", ALL, "committed: conflict", "Succeeded"),
    ("foreign", SUCCESS, ALL, "same: conflict", "Succeeded unrecorded"),
    ("mine", REFUSED, ALL, "rejected", "Rejected"),
    (OWNED_DOUBT, "by_key", "sticky", "rejected", "Rejected"),
    (OWNED_DOUBT, "by_key", UNSTICKY, "in_doubt", "InDoubt"),
    (OWNED_DOUBT, "refused", ALL, "in_doubt", "InDoubt"),
    ("mine", "not_done", ALL, "erased", "NotExecuted"),
    (OWNED_DOUBT, "not_done", ALL, "in_doubt", "InDoubt"),
    (f"mine {OWNED_DOUBT}", f"{SILENCE} no_evidence absent_early", ALL, "in_doubt", "InDoubt"),
    ("asking", "absent_late", ALL, "started: run 1", "run"),
    ("asking", "absent_late_swept", ALL, "erased", "NotExecuted"),
    (f"{MINE} dead_mine_doubt", "absent_late absent_late_swept", ALL, "in_doubt", "InDoubt"),
    (NOT_OWNED, REPORTS, ALL, "same", WHAT_IS),
    ("foreign", f"{REFUSED} not_done {ABSENT}", ALL, "same", "KeyReused"),
    ("foreign", f"{SILENCE} no_evidence", ALL, "same", "InDoubt"),
    ("absent", f"{REFUSED} not_done {ABSENT}", ALL, "same", "InDoubt"),
    ("absent", f"{SILENCE} no_evidence", "lookup none", "in_doubt", "InDoubt"),
    ("absent", f"{SILENCE} no_evidence", REPEATABLE, "same", "InDoubt"),
    ("dead_due in_doubt_due", "occurred", ALL, "committed", "Succeeded"),
    ("dead_due in_doubt_due", "not_occurred", ALL, "rejected", "Rejected"),
    (f"live {MINE} asking dead dead_mine_doubt in_doubt", RESOLVE, ALL, "same", WHAT_IS),
    ("committed rejected foreign", RESOLVE, ALL, "same", WHAT_IS),
)
STATES = f"absent {OPEN} committed rejected foreign".split()
EVENTS = f"claim sweep {SUCCESS} {REPORTS} {RESOLVE}".split()
SAYS = {
    "live": "InProgress",
    "mine": "InProgress",
    "mine_doubt": "InProgress",
    "asking": "InProgress",
    "committed": "Succeeded",
    "foreign": "Succeeded",
    "rejected": "Rejected",
}


def became(record: Record | None, decision: ev.Decision) -> str:
    conflict = ": conflict" if decision.alarm else ""
    match decision:
        case ev.Keep():
            return "same" + conflict
        case ev.Erase():
            return "erased"
        case ev.Write(record=new) if new.state == "started":
            assert new.attempt == "me"
            doubt = " doubt" if new.doubt else ""
            return f"started: {new.mode} {new.epoch}{doubt}"
        case ev.Write(record=new):
            assert record is None or new.fingerprint == record.fingerprint
            return new.state + conflict


def gets_of(decision: ev.Decision) -> str:
    match decision.verdict:
        case ev.Run():
            return "run"
        case ev.Ask():
            return "ask"
        case ev.Tell(Succeeded(recorded=False)):
            return "Succeeded unrecorded"
        case ev.Tell(outcome):
            return type(outcome).__name__


@pytest.mark.parametrize("kind", CLASSES)
def test_every_record_meets_every_event_as_one_row_of_the_table_says(kind: str) -> None:
    for state, event in product(STATES, EVENTS):
        rows = [
            (becomes, SAYS.get(state, "InDoubt") if gets == WHAT_IS else gets)
            for states, events, kinds, becomes, gets in ROWS
            if state in states.split() and event in events.split() and kind in kinds.split()
        ]
        record, age_ms = stored(state, kind)
        decision = decide(record, age_ms, event_of(event, kind, record))
        assert rows == [(became(record, decision), gets_of(decision))], (state, event, kind)
