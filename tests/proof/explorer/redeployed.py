"""The rules of a claim, each without its look at what the claiming deployment declares.

Source: PROTOCOL §3 (the record's class, and the deployment's).
"""

from tests.proof.explorer import weaken as by
from tests.proof.explorer.mutants import ASK, RUN_AGAIN, Weakened
from tests.proof.explorer.settings import among
from tests.proof.explorer.weaken import Name

STUCK: Name = ("Claim", "dead_and_unaskable")

REDEPLOYED: tuple[Weakened, ...] = (
    Weakened(
        "sent again for a deployment that declares nothing of the kind",
        RUN_AGAIN,
        by.hearing(own=by.declared_as_it_was),
        among("keyed", attempts=2, declares="none"),
    ),
    Weakened(
        "asked for a deployment that cannot ask",
        ASK,
        by.hearing(own=by.declared_as_it_was),
        among("lookup", attempts=2, declares="none"),
    ),
    Weakened(
        "told to find out where the deployment cannot",
        STUCK,
        by.hearing(own=by.declared_as_it_was),
        among("keyed", attempts=2, declares="none"),
    ),
    Weakened(
        "what a weaker deployment takes over keeps its class",
        ASK,
        by.writing(backend=by.as_it_was),
        among("keyed_ask", attempts=2, declares="lookup"),
    ),
)
