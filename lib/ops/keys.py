"""A new agent key: shown once, and its entry for AGENT_KEYS, which holds only the digest.

Source: DESIGN §3 (AGENT_KEYS), §7 (scopes); RFC 3339 (expires).
"""

import json
import re
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from lib.contract import Scope
from lib.machinery.gate.decide import COMMAND_SCOPE, QUERY_SCOPE
from lib.ops.answer import Answer, CannotError
from lib.ops.reach import offered
from lib.settings import AgentKey

PREFIX = "settle_"  # so that a scanner for leaked secrets can know it
KEY_BYTES = 32
LASTS = re.compile(r"([1-9][0-9]{0,3})([dh])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a new key is to be.

    allowed: scopes that no tool of this deployment asks for, but that the key may have.
    expires: an RFC 3339 instant, or `90d` or `12h` from now; None never.
    """

    name: str
    scopes: str
    allowed: Sequence[str] = ()
    expires: str | None = None


def new_key(wish: Wish) -> Answer:
    """Make a key from fresh randomness; nothing is stored anywhere.

    Raises: CannotError: a name, scope or instant that AGENT_KEYS could not hold.
    """
    key = PREFIX + secrets.token_urlsafe(KEY_BYTES)
    entry = _entry(wish, key)
    listed = json.dumps([entry], separators=(",", ":"))
    command = f"printf %s {shlex.quote(listed)} | vercel env add AGENT_KEYS production"
    lines = (
        key,
        "",
        "That is the key, shown this once: give it to the agent as its bearer token.",
        "Its entry, an element of the list in AGENT_KEYS, holds only the digest:",
        f"  {listed[1:-1]}",
        "For the first key of a deployment:",
        f"  {command}",
        "Beside others, add the entry to the list that you keep, and set it anew. Then deploy.",
    )
    data = {"key": key, "entry": entry, "command": command}
    return Answer(data=data, shown="\n".join(lines))


def _entry(wish: Wish, key: str) -> dict[str, object]:
    scopes = list(dict.fromkeys(each.strip() for each in wish.scopes.split(",") if each.strip()))
    if not scopes:
        raise CannotError("usage", "Give at least one scope, for instance call:tools.")
    unknown = [scope for scope in scopes if scope not in {*_known(), *wish.allowed}]
    if unknown:
        known = ", ".join(sorted(_known()))
        raise CannotError(
            "unknown_scope",
            f"No tool here asks for {', '.join(unknown)} (known: {known}). "
            "Give it with --allow-scope too if it is meant for another deployment.",
        )
    fields: dict[str, object] = {
        "id": wish.name,
        "sha256": sha256(key.encode()).hexdigest(),
        "scopes": scopes,
    }
    if wish.expires is not None:
        fields["expires"] = _instant(wish.expires).isoformat(timespec="seconds")
    try:
        AgentKey.model_validate(fields)
    except ValidationError as fault:
        named = {str(error["loc"][0]) for error in fault.errors(include_input=False)}
        raise CannotError(
            "usage", f"{' and '.join(sorted(named))}: visible ASCII only, 1 to 128 characters."
        ) from fault
    return fields


def _known() -> set[Scope]:
    declared = {tool.scope for tool in offered().tools if tool.scope is not None}
    return {QUERY_SCOPE, COMMAND_SCOPE, *declared}


def _instant(text: str) -> datetime:
    now = datetime.now(UTC)
    lasts = LASTS.fullmatch(text)
    if lasts is not None:
        amount = int(lasts[1])
        return now + (timedelta(days=amount) if lasts[2] == "d" else timedelta(hours=amount))
    try:
        until = TypeAdapter(AwareDatetime).validate_json(json.dumps(text))
    except ValidationError as fault:
        raise CannotError(
            "usage", "--expires: 90d, 12h, or an RFC 3339 instant like 2027-01-31T00:00:00Z."
        ) from fault
    if until <= now:
        raise CannotError("usage", "--expires: that instant is over.")
    return until
