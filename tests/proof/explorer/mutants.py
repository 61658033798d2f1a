"""The table with one rule or guard taken out: each must break a promise (PROTOCOL §10.2).

Data: every rule of every event is in `REMOVED`, what stands inside the rules in `WEAKENED`, what
the shell owes them in `SHELL`; each with the smallest setting found that shows the harm.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from lib.machinery.runner.record import DAY_MS
from tests.proof.explorer.model import Setting
from tests.proof.explorer.settings import among
from tests.proof.explorer.weaken import (
    Name,
    Weaken,
    aged,
    believing,
    deaf_to_keys,
    deleting,
    hearing,
    held_by,
    only_the_owner,
    removed,
    running,
    silent,
    writing,
)


def endless(case: Any) -> Any:  # noqa: ANN401  a case of any event
    """The same backend, as if it never forgot a key."""
    return replace(case.record.backend, window_ms=1000 * DAY_MS)


def keeps_refusals(case: Any) -> Any:  # noqa: ANN401  a case of any event
    """The same backend, as if it stored refusals under the key."""
    return replace(case.record.backend, sticky=True)


def keyed(case: Any) -> Any:  # noqa: ANN401  a case of any event
    """The same backend, as if it deduplicated."""
    return replace(case.record.backend, kind="unique")


REMOVED: dict[Name, Setting] = {
    ("Claim", "claim_of_another_operation"): among("none", attempts=2, stranger=True),
    ("Claim", "claim_of_a_settled_operation"): among("keyed", attempts=2),
    ("Claim", "claim_sent_again"): among("none"),
    ("Claim", "claim_while_running"): among("keyed", attempts=2),
    ("Claim", "claim_inside_the_key_window"): among("unique"),
    ("Claim", "claim_that_can_ask"): among("lookup"),
    ("Claim", "dead_and_unaskable"): among("none", attempts=2),
    ("Sweep", "sweep_of_a_settled_operation"): among("lookup", sweeps=1),
    ("Sweep", "sweep_while_running"): among("lookup", sweeps=1),
    ("Sweep", "sweep_that_can_ask"): among("lookup"),
    ("Sweep", "dead_and_unaskable"): among("none", sweeps=1),
    ("Occurred", "success_under_another_fingerprint"): among(
        "none", attempts=2, losses=1, stranger=True
    ),
    ("Occurred", "success_of_an_open_operation"): among("none"),
    ("Occurred", "success_after_a_refusal"): among("none", operators=1, errs=True),
    ("Occurred", "success_with_another_answer"): among("none", attempts=2, losses=1),
    ("Occurred", "success_again"): among("keyed", attempts=2),
    ("Report", "report_under_another_fingerprint"): among("none", attempts=2, stranger=True),
    ("Report", "refusal_to_trust"): among("none"),
    ("Report", "nothing_done"): among("none"),
    ("Report", "absent_past_the_horizon"): among("lookup"),
    ("Report", "owner_without_proof"): among("none"),
    ("Resolve", "operator_word"): among("none"),
}


class Weakened(NamedTuple):
    """One guard inside one rule: what is wrong, the rule, the change, and who shows the harm."""

    what: str
    rule: Name
    weaken: Weaken
    setting: Setting


_TWO = {"attempts": 2}
WEAKENED: tuple[Weakened, ...] = (
    Weakened(
        "a re-sent claim turns reconcile into run",
        ("Claim", "claim_sent_again"),
        running,
        among("lookup", **_TWO),
    ),
    Weakened(
        "any live claim is taken for one's own",
        ("Claim", "claim_sent_again"),
        believing(attempt=lambda case: case.event.own.attempt),
        among("none", **_TWO),
    ),
    Weakened(
        "run again after the lease, whatever the class",
        ("Claim", "claim_inside_the_key_window"),
        believing(backend=keyed),
        among("none", **_TWO),
    ),
    Weakened(
        "no key window",
        ("Claim", "claim_inside_the_key_window"),
        believing(backend=endless),
        among("keyed", **_TWO),
    ),
    Weakened(
        "the operation's age starts anew with each take-over",
        ("Claim", "claim_inside_the_key_window"),
        writing(elapsed_ms=0),
        among("keyed", attempts=3),
    ),
    Weakened(
        "a take-over without doubt",
        ("Claim", "claim_inside_the_key_window"),
        writing(doubt=False),
        among("keyed", **_TWO),
    ),
    Weakened(
        "a take-over that moves no fence",
        ("Claim", "claim_that_can_ask"),
        writing(attempt=lambda case: case.record.attempt),
        among("lookup", writes_late=True, **_TWO),
    ),
    Weakened(
        "a take-over that moves no horizon",
        ("Claim", "claim_inside_the_key_window"),
        writing(horizon_ms=0),
        among("keyed", operators=1, **_TWO),
    ),
    Weakened(
        "asking moves the horizon",
        ("Claim", "claim_that_can_ask"),
        writing(horizon_ms=lambda case: case.record.lease_ms + case.record.backend.settle_ms),
        among("lookup"),
    ),
    Weakened(
        "asking forgets the horizon",
        ("Claim", "claim_that_can_ask"),
        writing(horizon_ms=0),
        among("lookup", **_TWO),
    ),
    Weakened(
        "the caller sends where it should ask",
        ("Claim", "claim_that_can_ask"),
        running,
        among("lookup", **_TWO),
    ),
    Weakened(
        "the sweeper sends",
        ("Sweep", "sweep_that_can_ask"),
        running,
        among("lookup", sweeps=1),
    ),
    Weakened(
        "the sweeper forgets the horizon",
        ("Sweep", "sweep_that_can_ask"),
        writing(horizon_ms=0),
        among("lookup", sweeps=1),
    ),
    Weakened(
        "the sweeper makes the key's age start anew",
        ("Sweep", "dead_and_unaskable"),
        writing(elapsed_ms=0),
        among("keyed", sweeps=1, **_TWO),
    ),
    Weakened(
        "dead means that nothing can land any more",
        ("Sweep", "dead_and_unaskable"),
        writing(horizon_ms=0),
        among("none", sweeps=1, operators=1),
    ),
    Weakened(
        "commits are fenced",
        ("Occurred", "success_of_an_open_operation"),
        only_the_owner,
        among("keyed", **_TWO),
    ),
    Weakened(
        "a commit drops the fingerprint",
        ("Occurred", "success_of_an_open_operation"),
        writing(fingerprint="fp"),
        among("none"),
    ),
    Weakened(
        "a success after a refusal raises no alarm",
        ("Occurred", "success_after_a_refusal"),
        silent,
        among("none", operators=1, errs=True),
    ),
    Weakened(
        "the latest answer wins",
        ("Occurred", "success_with_another_answer"),
        writing(answer=lambda case: case.event.answer),
        among("none", losses=1, **_TWO),
    ),
    Weakened(
        "another answer raises no alarm",
        ("Occurred", "success_with_another_answer"),
        silent,
        among("none", losses=1, **_TWO),
    ),
    Weakened(
        "a success of a lost record raises no alarm",
        ("Occurred", "success_under_another_fingerprint"),
        silent,
        among("none", losses=1, stranger=True, **_TWO),
    ),
    Weakened(
        "a refusal trusted on take-over",
        ("Report", "refusal_to_trust"),
        believing(doubt=False),
        among("keyed", **_TWO),
    ),
    Weakened(
        "a refusal trusted after a send without an answer",
        ("Report", "refusal_to_trust"),
        hearing(doubt=False),
        among("keyed", sends=2),
    ),
    Weakened(
        "a refusal trusted from anyone",
        ("Report", "refusal_to_trust"),
        hearing(own=held_by),
        among("lookup", writes_late=True, **_TWO),
    ),
    Weakened(
        "a refusal by key trusted where keys keep no refusals",
        ("Report", "refusal_to_trust"),
        believing(backend=keeps_refusals),
        among("keyed", **_TWO),
    ),
    Weakened(
        "a refusal by a sticky key doubted",
        ("Report", "refusal_to_trust"),
        deaf_to_keys,
        among("sticky", **_TWO),
    ),
    Weakened(
        "a release on take-over",
        ("Report", "nothing_done"),
        believing(doubt=False),
        among("keyed", **_TWO),
    ),
    Weakened(
        "a release after a send without an answer",
        ("Report", "nothing_done"),
        hearing(doubt=False),
        among("keyed", sends=2),
    ),
    Weakened(
        "an unfenced release",
        ("Report", "nothing_done"),
        hearing(own=held_by),
        among("lookup", writes_late=True, **_TWO),
    ),
    Weakened(
        "absent is proof",
        ("Report", "absent_past_the_horizon"),
        believing(horizon_ms=0),
        among("lookup", **_TWO),
    ),
    Weakened(
        "the horizon counts when the answer is taken, not when the question was sent",
        ("Report", "absent_past_the_horizon"),
        hearing(asked_age_ms=lambda case: case.age_ms),
        among("lookup", **_TWO),
    ),
    Weakened(
        "absent counts for whoever asked",
        ("Report", "absent_past_the_horizon"),
        hearing(own=held_by),
        among("lookup", sweeps=1, **_TWO),
    ),
    Weakened(
        "an attempt that may run at last has no horizon",
        ("Report", "absent_past_the_horizon"),
        writing(horizon_ms=0),
        among("lookup", sweeps=1, **_TWO),
    ),
    Weakened(
        "no evidence deletes",
        ("Report", "owner_without_proof"),
        deleting,
        among("none"),
    ),
    Weakened(
        "no evidence from whoever reports",
        ("Report", "owner_without_proof"),
        hearing(own=held_by),
        among("lookup", writes_late=True, **_TWO),
    ),
    Weakened(
        "no evidence, and no horizon",
        ("Report", "owner_without_proof"),
        writing(horizon_ms=0),
        among("lookup", **_TWO),
    ),
    Weakened(
        "a question without proof moves the horizon",
        ("Report", "owner_without_proof"),
        hearing(was_sent=True),
        among("lookup"),
    ),
    Weakened(
        "a report makes the key's age start anew",
        ("Report", "owner_without_proof"),
        writing(elapsed_ms=0),
        among("keyed_ask", sweeps=1, **_TWO),
    ),
    Weakened(
        "the operator may speak before the horizon",
        ("Resolve", "operator_word"),
        aged(lambda case: case.age_ms if case.is_live else case.record.horizon_ms),
        among("none", operators=1),
    ),
    Weakened(
        "the operator's word counts for a later record",
        ("Resolve", "operator_word"),
        hearing(seen=held_by),
        among("keyed", operators=1, **_TWO),
    ),
    Weakened(
        "the operator may speak while an attempt runs",
        ("Resolve", "operator_word"),
        aged(lambda case: case.record.horizon_ms),
        among("none", operators=1),
    ),
)

SHELL: dict[str, Setting] = {
    "no dispatch guard": among("lookup", guard=lambda **_: True, **_TWO),
    "a send without an answer leaves no doubt": among("keyed", sends=2, counts_doubt=False),
    "an attempt writes past its lease": among("keyed", writes_late=True, **_TWO),
}
