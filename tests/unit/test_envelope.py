"""What each outcome says: fields, and the sentence that tells a model what to do next.

Source: PROTOCOL §8; square-mcp-server #31 and KeeperHub #1884 (what models do with vague words).
"""

import pytest

from lib.contract import OperationId
from lib.machinery.describe import ENVELOPE_SCHEMA
from lib.machinery.envelope import envelope, words
from lib.machinery.outcome import (
    Fault,
    Forbidden,
    InDoubt,
    InProgress,
    Invalid,
    KeyReused,
    NotExecuted,
    Outcome,
    Rejected,
    StoreUnavailable,
    Succeeded,
)

ID = OperationId("0" * 64)
BUSY = Fault("busy", "The backend is busy.")
SAID: dict[str, tuple[Outcome, tuple[str, str, str, int | None], str]] = {
    "executed": (
        Succeeded(answer="{}", this_call="executed", is_fresh=True),
        ("succeeded", "occurred", "never", None),
        "Done.",
    ),
    "replayed": (
        Succeeded(answer="{}", this_call="replayed"),
        ("succeeded", "occurred", "never", None),
        "Done by an earlier call with this key; not executed again.",
    ),
    "recovered": (
        Succeeded(answer="{}", this_call="recovered"),
        ("succeeded", "occurred", "never", None),
        "Done by an earlier call with this key; not executed again.",
    ),
    "taken over, and proved never to have happened before": (
        Succeeded(answer="{}", this_call="recovered", is_fresh=True),
        ("succeeded", "occurred", "never", None),
        "Done.",
    ),
    "not recorded": (
        Succeeded(answer="{}", this_call="executed", recorded=False),
        ("succeeded", "occurred", "never", None),
        "Done. Do not repeat it under a new key.",
    ),
    "rejected": (
        Rejected(fault=BUSY, this_call="executed"),
        ("rejected", "none", "new_key", None),
        "Refused by the backend (busy). Nothing happened. Change the request and use a new key.",
    ),
    "denied by an operator": (
        Rejected(fault=Fault("resolved_by_operator"), this_call="replayed"),
        ("rejected", "none", "new_key", None),
        "A person looked into it. Nothing happened. Change the request and use a new key.",
    ),
    "not executed": (
        NotExecuted(fault=BUSY, after_ms=1_500),
        ("not_executed", "none", "same_key", 1_500),
        "Nothing happened. Retry with the same key and arguments after 2 s.",
    ),
    "limited before the claim": (
        NotExecuted(fault=BUSY, after_ms=9_000, side_effect="unknown"),
        ("not_executed", "unknown", "same_key", 9_000),
        ("Nothing was sent by this call; what earlier calls did is not known now."),
    ),
    "in progress": (
        InProgress(after_ms=3_000),
        ("in_progress", "unknown", "same_key", 3_000),
        "Still running. Do not use a new key.",
    ),
    "in doubt, can be asked": (
        InDoubt(fault=BUSY, after_ms=5_000, was_sent=True),
        ("in_doubt", "unknown", "same_key", 5_000),
        "It may have happened. Retry with the same key and arguments after 5 s to find out.",
    ),
    "in doubt, cannot be asked": (
        InDoubt(fault=BUSY, after_ms=None),
        ("in_doubt", "unknown", "never", None),
        (
            "It may have happened. Do not repeat it under a new key; a person has to check "
            f"(operation {ID})."
        ),
    ),
    "key reused": (
        KeyReused(),
        ("key_reused", "none", "new_key", None),
        "This key was used for something else. For a different action choose a new key.",
    ),
    "invalid": (
        Invalid("Input validation error: name: Field required"),
        ("invalid", "none", "same_key", None),
        "Input validation error: name: Field required",
    ),
    "forbidden": (
        Forbidden(reason="preview", side_effect="unknown"),
        ("forbidden", "unknown", "never", None),
        (
            "Not allowed: this is a preview deployment, which has no credentials for commands. "
            "Nothing was sent by this call."
        ),
    ),
    "store unavailable": (
        StoreUnavailable(after_ms=2_000),
        ("store_unavailable", "unknown", "same_key", 2_000),
        ("Nothing was sent by this call; what earlier calls did is not known now."),
    ),
}


@pytest.mark.parametrize("what", SAID)
def test_an_outcome_is_said_in_fields_and_in_one_sentence_or_two(what: str) -> None:
    outcome, fields, text = SAID[what]
    said = words(outcome, ID)
    told = envelope(said, ID)
    retry = told["retry"]
    assert (told["outcome"], told["side_effect"], retry["advice"], retry["after_ms"]) == fields
    assert said.text == text
    assert set(told) == {*ENVELOPE_SCHEMA, "result"}
    assert told["operation_id"] == ID


def test_the_stored_answer_comes_out_as_it_was_stored() -> None:
    done = Succeeded(answer='{"id":"é","n":1}', this_call="replayed")
    assert envelope(words(done, ID), ID)["result"] == {"id": "é", "n": 1}
