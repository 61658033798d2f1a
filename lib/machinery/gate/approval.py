"""A person's approval of one command: asked for, sealed, and checked again. It performs nothing.

The sealed state binds principal, tool, all arguments, key and expiry, so any instance can check
it and nobody can move it. It is not single use by itself: the operation's record is.
Source: MCP 2026-07-28, basic/patterns/mrtr; DESIGN §7.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal

from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState
from mcp.types import (
    CallToolRequestParams,
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from lib.machinery.runner.intent import Intent

NAME = "approval"
STATE_TTL_S = 600  # long enough to read a prompt, short enough to mean it
MODERN = "2026-07-28"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "description": "Yes, do it"}},
    "required": ["approve"],
}


@dataclass(frozen=True, slots=True)
class Approved:
    """A person said yes to exactly this, lately."""


@dataclass(frozen=True, slots=True)
class Unasked:
    """Nobody was asked yet."""


@dataclass(frozen=True, slots=True)
class Unapproved:
    """The answer does not approve this call."""

    reason: Literal["declined", "approval_expired", "approval_mismatch"]


def can_be_asked(protocol_version: str, capabilities: ClientCapabilities | None) -> bool:
    """Tell whether a client can put a form before its user; older revisions cannot here."""
    if protocol_version < MODERN or capabilities is None or capabilities.elicitation is None:
        return False
    # An empty capability stands for forms (MCP client/elicitation).
    elicitation = capabilities.elicitation
    return elicitation.form is not None or elicitation.url is None


def ask(intent: Intent, *, state_key: str, now_s: float) -> InputRequiredResult:
    """Put the tool, its resolved arguments and its target before a person.

    Args: state_key: at least 32 bytes, with which `judge` reads what is sealed here.
    """
    form = ElicitRequestFormParams(message=prompt(intent), requested_schema=SCHEMA)
    state = {"for": _bound(intent), "until": now_s + STATE_TTL_S}
    return InputRequiredResult(
        input_requests={NAME: ElicitRequest(params=form)},
        request_state=AESGCMRequestStateCodec([state_key]).seal(json.dumps(state).encode()),
    )


def judge(
    intent: Intent, params: CallToolRequestParams, *, state_key: str, now_s: float
) -> Approved | Unasked | Unapproved:
    """Judge what came back with a call."""
    answer = (params.input_responses or {}).get(NAME)
    if params.request_state is None:
        return Unasked() if answer is None else Unapproved("approval_mismatch")
    try:
        state = json.loads(AESGCMRequestStateCodec([state_key]).unseal(params.request_state))
    except (InvalidRequestState, ValueError):
        return Unapproved("approval_mismatch")
    if state["for"] != _bound(intent):
        return Unapproved("approval_mismatch")
    if now_s >= state["until"]:
        return Unapproved("approval_expired")
    if not isinstance(answer, ElicitResult):
        return Unasked() if answer is None else Unapproved("approval_mismatch")
    is_yes = answer.action == "accept" and (answer.content or {}).get("approve") is True
    return Approved() if is_yes else Unapproved("declined")


def _bound(intent: Intent) -> list[str]:
    # The first covers environment, principal and key; the second covers tool and arguments.
    return [intent.operation.id, intent.fingerprint]


def prompt(intent: Intent) -> str:
    """Say what is to be approved; nothing in an argument can disguise another one."""
    arguments = json.dumps(intent.arguments.model_dump(mode="json"), ensure_ascii=False)
    if not arguments.isprintable():
        arguments = json.dumps(intent.arguments.model_dump(mode="json"))
    return f"Approve {intent.command.name} on {intent.command.target} with {arguments}?"
