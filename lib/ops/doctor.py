"""Whether a deployment with this environment could keep its promise, and what to do if not.

Every check runs that can: a fault in one place hides none in another.
Source: DESIGN §3 (settings), PROTOCOL §9 (doctor).
"""

from collections.abc import Collection
from secrets import token_hex

from lib.machinery.catalogue import Catalogue, DeclarationError
from lib.machinery.deployment import Ambient, deploy
from lib.ops.answer import Answer
from lib.ops.backend_checks import check_backends
from lib.ops.findings import Finding, accepting, diagnosis
from lib.ops.reach import CLOCK, Reached, offered
from lib.ops.store_checks import check_stores
from lib.settings import Misconfigured

SETTINGS_ADVICE = "Set it (`vercel env add {variable}`; on this machine .env), and deploy again."
EXTRA_ADVICE = "Remove it from this environment (`vercel env rm {variable}`), and deploy again."


async def examine(here: Reached, accepted: Collection[str] = ()) -> Answer:
    """Run every check.

    Args: accepted: names of checks that a person has looked after; only a failure still counts.
    """
    findings = [
        *_check_declarations(here),
        _check_sweeper(here),
        *await check_stores(here),
        *await check_backends(here),
    ]
    return diagnosis(here.settings.vercel_env, accepting(findings, accepted))


def _check_declarations(here: Reached) -> list[Finding]:
    try:
        catalogue = offered()
    except DeclarationError as fault:
        advice = "Change the declaration in lib/tools; without it nothing starts."
        return [
            *_check_settings(here, Catalogue(())),
            Finding("tools", "failed", str(fault), advice),
        ]
    counted = f"{len(catalogue.tools)} declared without contradiction"
    return [*_check_settings(here, catalogue), Finding("tools", "ok", counted)]


def _check_settings(here: Reached, catalogue: Catalogue) -> list[Finding]:
    given = Misconfigured(here.settings, here.faults) if here.faults else here.settings
    nothing = Ambient(clock=CLOCK, new_id=lambda: token_hex(16), platform_end=lambda: None)
    deployed = deploy(given, catalogue, nothing)
    if not isinstance(deployed, Misconfigured):
        return [Finding("settings", "ok", "complete and without contradiction")]
    return [
        Finding(
            "settings",
            "failed",
            f"{fault.variable}: {fault.problem}",
            (EXTRA_ADVICE if "must not" in fault.problem else SETTINGS_ADVICE).format(
                variable=fault.variable
            ),
        )
        for fault in deployed.faults
    ]


def _check_sweeper(here: Reached) -> Finding:
    if here.settings.cron_secret is not None:
        return Finding("sweeper", "ok", "CRON_SECRET is set")
    if here.settings.kind != "production":
        return Finding("sweeper", "skipped", "CRON_SECRET is not set; crons run in production only")
    advice = "Set 16 characters or more: without it no doubt is settled before its caller returns."
    return Finding("sweeper", "attention", "CRON_SECRET is missing", advice)
