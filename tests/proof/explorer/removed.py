"""Every rule of the table, each with who must act to show what its absence does."""

from tests.proof.explorer.model import Setting
from tests.proof.explorer.settings import among
from tests.proof.explorer.weaken import Name

REMOVED: dict[Name, Setting] = {
    ("Claim", "claim_of_another_operation"): among("none", attempts=2, stranger=True),
    ("Claim", "already_settled"): among("keyed", attempts=2),
    ("Claim", "claim_sent_again"): among("none"),
    ("Claim", "still_running"): among("keyed", attempts=2),
    ("Claim", "claim_inside_the_key_window"): among("unique"),
    ("Claim", "dead_and_askable"): among("lookup"),
    ("Claim", "dead_and_unaskable"): among("none", attempts=2),
    ("Sweep", "already_settled"): among("lookup", sweeps=1),
    ("Sweep", "still_running"): among("lookup", sweeps=1),
    ("Sweep", "dead_and_askable"): among("lookup"),
    ("Sweep", "dead_and_unaskable"): among("none", sweeps=1),
    ("Occurred", "success_under_another_fingerprint"): among(
        "none", attempts=2, losses=1, stranger=True
    ),
    ("Occurred", "success_of_an_open_operation"): among("none"),
    ("Occurred", "success_after_a_refusal"): among("none", operators=1, errs=True),
    ("Occurred", "success_with_another_answer"): among("none", attempts=2, losses=1),
    ("Occurred", "success_again"): among("keyed", attempts=2),
    ("Report", "report_under_another_fingerprint"): among("none", attempts=2, stranger=True),
    ("Report", "report_of_another_attempt"): among("lookup", writes_late=True, attempts=2),
    ("Report", "refusal_to_trust"): among("none"),
    ("Report", "nothing_done"): among("none"),
    ("Report", "absent_past_the_horizon"): among("lookup"),
    ("Report", "owner_without_proof"): among("none"),
    ("Resolve", "operator_word"): among("none"),
}
