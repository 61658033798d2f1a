"""The table with one rule or guard taken out: each must break a promise (PROTOCOL §10.2).

Data: `removed.py` names every rule of every event, `WEAKENED` what stands inside the rules, `SHELL`
what the shell owes them; each with the smallest setting found that shows the harm.
"""

from typing import NamedTuple

from lib.machinery.runner import events as ev
from tests.proof.explorer import weaken as by
from tests.proof.explorer.model import Setting
from tests.proof.explorer.settings import among
from tests.proof.explorer.weaken import Name, Weaken

SENT_AGAIN: Name = ("Claim", "claim_sent_again")
RUN_AGAIN: Name = ("Claim", "claim_inside_the_key_window")
ASK: Name = ("Claim", "dead_and_askable")
SWEEP: Name = ("Sweep", "dead_and_askable")
SWEPT: Name = ("Sweep", "dead_and_unaskable")
COMMIT: Name = ("Occurred", "success_of_an_open_operation")
REVERSED: Name = ("Occurred", "success_after_a_refusal")
DIFFERS: Name = ("Occurred", "success_with_another_answer")
FOREIGN: Name = ("Occurred", "success_under_another_fingerprint")
FENCE: Name = ("Report", "report_of_another_attempt")
REFUSED: Name = ("Report", "refusal_to_trust")
NOT_DONE: Name = ("Report", "nothing_done")
ABSENT: Name = ("Report", "absent_past_the_horizon")
UNKNOWN: Name = ("Report", "owner_without_proof")
RESOLVED: Name = ("Resolve", "operator_word")


class Weakened(NamedTuple):
    """One guard inside one rule: what is wrong, the rule, the change, and who shows the harm."""

    what: str
    rule: Name
    weaken: Weaken
    setting: Setting


WEAKENED: tuple[Weakened, ...] = (
    Weakened(
        "a re-sent claim turns reconcile into run",
        SENT_AGAIN,
        by.running,
        among("lookup", attempts=2),
    ),
    Weakened(
        "any live claim is taken for one's own",
        SENT_AGAIN,
        by.believing(attempt=by.my_attempt),
        among("none", attempts=2),
    ),
    Weakened(
        "run again after the lease, whatever the class",
        RUN_AGAIN,
        by.trusting(by.deduplicates),
        among("none", attempts=2),
    ),
    Weakened("no key window", RUN_AGAIN, by.trusting(by.endless), among("keyed", attempts=2)),
    Weakened(
        "the operation's age starts anew with each take-over",
        RUN_AGAIN,
        by.writing(elapsed_ms=0),
        among("keyed", attempts=2),
    ),
    Weakened(
        "a take-over without doubt", RUN_AGAIN, by.writing(doubt=False), among("keyed", attempts=2)
    ),
    Weakened(
        "a take-over that moves no fence",
        ASK,
        by.writing(attempt=by.its_attempt),
        among("lookup", writes_late=True, attempts=2),
    ),
    Weakened(
        "a take-over that moves no horizon",
        RUN_AGAIN,
        by.writing(horizon_ms=0),
        among("keyed", operators=1, attempts=2),
    ),
    Weakened(
        "asking moves the horizon", ASK, by.writing(horizon_ms=by.its_horizon_anew), among("lookup")
    ),
    Weakened(
        "asking forgets the horizon", ASK, by.writing(horizon_ms=0), among("lookup", attempts=2)
    ),
    Weakened("the caller sends where it should ask", ASK, by.running, among("lookup", attempts=2)),
    Weakened("the sweeper sends", SWEEP, by.running, among("lookup", sweeps=1)),
    Weakened(
        "the sweeper forgets the horizon",
        SWEEP,
        by.writing(horizon_ms=0),
        among("lookup", sweeps=1),
    ),
    Weakened(
        "the sweeper makes the key's age start anew",
        SWEPT,
        by.writing(elapsed_ms=0),
        among("keyed", sweeps=1, attempts=2),
    ),
    Weakened(
        "dead means that nothing can land any more",
        SWEPT,
        by.writing(horizon_ms=0),
        among("none", sweeps=1, operators=1),
    ),
    Weakened("commits are fenced", COMMIT, by.only_the_owner, among("keyed", attempts=2)),
    Weakened("a commit drops the fingerprint", COMMIT, by.writing(fingerprint="fp"), among("none")),
    Weakened(
        "a success after a refusal raises no alarm",
        REVERSED,
        by.silent,
        among("none", operators=1, errs=True),
    ),
    Weakened(
        "the latest answer wins",
        DIFFERS,
        by.writing(answer=by.latest_answer),
        among("none", losses=1, attempts=2),
    ),
    Weakened(
        "another answer raises no alarm", DIFFERS, by.silent, among("none", losses=1, attempts=2)
    ),
    Weakened(
        "a success of a lost record raises no alarm",
        FOREIGN,
        by.silent,
        among("none", losses=1, stranger=True, attempts=2),
    ),
    Weakened(
        "a refusal trusted on take-over",
        REFUSED,
        by.believing(doubt=False),
        among("keyed", attempts=2),
    ),
    Weakened(
        "a refusal trusted after a send without an answer",
        REFUSED,
        by.hearing(doubt=False),
        among("keyed", sends=2),
    ),
    Weakened(
        "a refusal trusted from anyone",
        FENCE,
        by.blind_to(ev.Refused),
        among("lookup", writes_late=True, attempts=2),
    ),
    Weakened(
        "a refusal by key trusted where keys keep no refusals",
        REFUSED,
        by.believing(backend=by.keeps_refusals),
        among("keyed", attempts=2),
    ),
    Weakened(
        "a refusal by a sticky key doubted", REFUSED, by.deaf_to_keys, among("sticky", attempts=2)
    ),
    Weakened(
        "a release on take-over", NOT_DONE, by.believing(doubt=False), among("keyed", attempts=2)
    ),
    Weakened(
        "a release after a send without an answer",
        NOT_DONE,
        by.hearing(doubt=False),
        among("keyed", sends=2),
    ),
    Weakened(
        "an unfenced release",
        FENCE,
        by.blind_to(ev.NotDone),
        among("lookup", writes_late=True, attempts=2),
    ),
    Weakened("absent is proof", ABSENT, by.believing(horizon_ms=0), among("lookup", attempts=2)),
    Weakened(
        "the horizon counts when the answer is taken, not when the question was sent",
        ABSENT,
        by.hearing(asked_age_ms=by.its_age),
        among("lookup", attempts=2),
    ),
    Weakened(
        "absent counts for whoever asked",
        FENCE,
        by.blind_to(ev.Absent),
        among("lookup", sweeps=1, attempts=2),
    ),
    Weakened(
        "an attempt that may run at last has no horizon",
        ABSENT,
        by.writing(horizon_ms=0),
        among("lookup", operators=1, attempts=2),
    ),
    Weakened("no evidence deletes", UNKNOWN, by.deleting, among("none")),
    Weakened(
        "no evidence from whoever reports",
        FENCE,
        by.blind_to(ev.NoEvidence),
        among("lookup", writes_late=True, attempts=2),
    ),
    Weakened(
        "no evidence, and no horizon",
        UNKNOWN,
        by.writing(horizon_ms=0),
        among("lookup", attempts=2),
    ),
    Weakened(
        "a question without proof moves the horizon",
        UNKNOWN,
        by.hearing(was_sent=True),
        among("lookup"),
    ),
    Weakened(
        "a report makes the key's age start anew",
        UNKNOWN,
        by.writing(elapsed_ms=0),
        among("keyed_ask", sweeps=1, attempts=2),
    ),
    Weakened(
        "the operator may speak before the horizon",
        RESOLVED,
        by.aged(lambda case: case.age_ms if case.is_live else case.record.horizon_ms),
        among("none", operators=1),
    ),
    Weakened(
        "the operator's word counts for a later record",
        RESOLVED,
        by.hearing(seen=by.held_by),
        among("keyed", operators=1, attempts=2),
    ),
    Weakened(
        "the operator may speak while an attempt runs",
        RESOLVED,
        by.aged(lambda case: case.record.horizon_ms),
        among("none", operators=1),
    ),
)

SHELL: dict[str, Setting] = {
    "no dispatch guard": among("lookup", guard=by.always, attempts=2),
    "a send without an answer leaves no doubt": among("keyed", sends=2, counts_doubt=False),
    "a claim without a reply takes back whatever is stored": among(
        "none", attempts=2, takes_back_its_own=False
    ),
    "an attempt writes past its lease": among("keyed", writes_late=True, attempts=2),
}
