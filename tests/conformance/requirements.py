"""What went wrong elsewhere, and the test that holds it here; ids match tests.

Source: PROTOCOL §11, whose rows these are.
"""

from dataclasses import dataclass

CRASH = "tests/crash/test_field_reports.py::"
PROTOCOL = "tests/protocol/test_"
OWNERS = "tests/crash/test_owners.py::"
KILLS = "tests/crash/test_kills.py::"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One report from the field. behaviour: what is right; test: where it is shown."""

    id: str
    source: tuple[str, ...]
    behaviour: str
    test: str


REPORTS = (
    Report(
        id="lease-ends",
        source=("powertools-lambda-python #8386", "powertools-lambda-python #8387"),
        behaviour="a lease always has an end, from the settings if need be",
        test=f"{PROTOCOL}deadline.py::test_a_lease_ends_with_the_earlier_of_platform_and_setting",
    ),
    Report(
        id="zero-is-a-number",
        source=("powertools-lambda-python #4759",),
        behaviour="no time left is a value: nothing is sent, and the key is free",
        test=f"{PROTOCOL}deadline.py::"
        "test_with_too_little_time_left_nothing_is_sent_and_the_key_is_free",
    ),
    Report(
        id="time-out-is-doubt",
        source=("powertools-lambda-python #8049", "powertools-lambda-python #1038"),
        behaviour="a time-out is in doubt, and the retry asks",
        test=f"{PROTOCOL}lossy_backend.py::"
        "test_no_evidence_is_found_out_where_it_can_be_and_else_stays_in_doubt",
    ),
    Report(
        id="lease-is-not-retention",
        source=("powertools-lambda-python #1038",),
        behaviour="a dead attempt is taken over when its lease ends, not when its record does",
        test=f"{KILLS}test_a_command_killed_there_ends_as_its_class_can_prove",
    ),
    Report(
        id="only-yours",
        source=("powertools-lambda-typescript #5675", "powertools-lambda-typescript #5717"),
        behaviour="a refused duplicate deletes nothing of the owner",
        test=f"{OWNERS}test_a_refused_duplicate_deletes_nothing_of_the_owner",
    ),
    Report(
        id="fingerprint-first",
        source=("powertools-lambda-python #1093",),
        behaviour="the fingerprint is taken once, before a handler can change its input",
        test=f"{OWNERS}test_a_handler_that_changes_its_input_changes_no_fingerprint",
    ),
    Report(
        id="commit-keeps-fingerprint",
        source=("powertools-lambda-typescript #5705",),
        behaviour="a settled record still knows what it was for",
        test=f"{CRASH}test_a_settled_record_still_knows_what_it_was_for",
    ),
    Report(
        id="canonical-form",
        source=("powertools-lambda-python #638", "powertools-lambda-typescript #2570"),
        behaviour="the order and spelling of arguments change nothing",
        test=f"{CRASH}test_the_same_arguments_spelled_otherwise_are_the_same",
    ),
    Report(
        id="no-key-no-command",
        source=("powertools-lambda-python #2465", "powertools-lambda-typescript #1501"),
        behaviour="a missing key is refused",
        test=f"{CRASH}test_a_command_without_a_key_is_refused_before_anything",
    ),
    Report(
        id="transient-is-not-kept",
        source=("node-idempotency #36",),
        behaviour="what was turned away runs with the same key",
        test=f"{PROTOCOL}lossy_backend.py::"
        "test_what_was_turned_away_leaves_nothing_and_runs_with_the_same_key",
    ),
    Report(
        id="lock-covers-work",
        source=("Truxify #5846", "langwatch #6511", "noveum orbit #455"),
        behaviour="a twin of slow work waits, and never runs",
        test=f"{OWNERS}test_a_twin_of_slow_work_waits_and_never_runs",
    ),
    Report(
        id="age-is-no-evidence",
        source=("noveum orbit #455",),
        behaviour="past its lease an operation is asked about, or stays in doubt",
        test=f"{KILLS}test_a_command_killed_there_ends_as_its_class_can_prove",
    ),
    Report(
        id="scope-is-the-principal",
        source=("titen #104", "margince #5315"),
        behaviour="a key belongs to a principal, and a replay is authorised",
        test=f"{CRASH}test_a_key_belongs_to_a_principal_and_a_replay_is_authorised",
    ),
    Report(
        id="one-key-per-action",
        source=("square-mcp-server #31", "KeeperHub #1884"),
        behaviour="a model is told one key per action, and when an answer is an old one",
        test=f"{CRASH}test_a_model_is_told_one_key_per_action_and_when_an_answer_is_old",
    ),
    Report(
        id="one-reference",
        source=("KeeperHub #2207", "stripe-php #637", "stripe-ruby #598"),
        behaviour="every attempt carries one reference on the wire, and no other operation does",
        test=f"{CRASH}test_every_attempt_carries_one_reference_and_no_other_operation_does",
    ),
    Report(
        id="moves-repeat",
        source=("upstash redis-js #1455", "upstash-redis 1.8"),
        behaviour="a move that is executed twice is one move",
        test=f"{PROTOCOL}lossy_store.py::test_one_lost_exchange_with_the_store_changes_nothing",
    ),
    Report(
        id="cancelled-is-not-released",
        source=("idemkit 1.0.2",),
        behaviour="cancelled while sending is in doubt, and found out",
        test=f"{PROTOCOL}cancellation.py::"
        "test_a_call_cancelled_while_sending_is_in_doubt_and_found_out",
    ),
    Report(
        id="silence-is-not-failure",
        source=("agent-once 0.1.0",),
        behaviour="no answer is never recorded as a failure",
        test=f"{PROTOCOL}lossy_backend.py::"
        "test_a_wire_that_stays_broken_leaves_every_class_in_doubt_for_its_retry",
    ),
    Report(
        id="late-is-not-lost",
        source=("powertools-lambda-python #8049",),
        behaviour="a late success is believed from an attempt that was taken over",
        test=f"{OWNERS}test_a_late_success_is_believed_from_an_attempt_that_was_taken_over",
    ),
    Report(
        id="first-answer-stays",
        source=("exactly-once 0.2.1",),
        behaviour="a stale owner's success is a conflict that a person is told of",
        test=f"{OWNERS}test_a_stale_owners_success_is_a_conflict_and_the_first_answer_stays",
    ),
)
