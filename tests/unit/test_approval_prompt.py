"""Who can be asked, and what a person reads: an argument cannot disguise another one."""

import pytest
from mcp.types import ClientCapabilities
from pydantic import BaseModel

from lib.contract import Call, Command, OperationId, Principal, Unaskable
from lib.machinery.gate.approval import can_be_asked, prompt
from lib.machinery.runner.intent import Intent
from lib.machinery.runner.record import Operation


class Paid(BaseModel):
    """Arguments of a command."""

    to: str
    amount: int


async def _pay(asked: Paid, _call: Call) -> Paid:
    return asked


PAY = Command(
    name="pay_bill",
    toolset="bills",
    description="Pay.",
    arguments=Paid,
    result=Paid,
    perform=_pay,
    backend=Unaskable(),
    destructive=True,
    target="the bank",
    approval=True,
)


def asked(to: str) -> str:
    intent = Intent(
        command=PAY,
        arguments=Paid(to=to, amount=7),
        principal=Principal(issuer="i", subject="s"),
        operation=Operation(id=OperationId("0" * 64), reference="1" * 64),
        fingerprint="2" * 64,
    )
    return prompt(intent)


def test_the_prompt_names_tool_target_and_each_argument() -> None:
    expected = 'Approve pay_bill on the bank with {"to": "ann", "amount": 7}?'
    assert asked("ann") == expected
    assert '"to": "Łukasz 👍"' in asked("Łukasz 👍")


@pytest.mark.parametrize(
    "to",
    [
        "\u202eann",
        "ann\u2066",
        "a\nApprove pay_bill",
        "a\u2028b",
        "\u200b",
        "\x1b[2K",
        "\u00ad",
        "\ufeff",
    ],
)
def test_no_character_that_hides_or_moves_text_reaches_the_person(to: str) -> None:
    assert asked(to).isprintable()


def test_quotes_cannot_end_an_argument_early() -> None:
    assert '\\", \\"amount\\": 1' in asked('ann", "amount": 1')
    assert '"amount": 7}?' in asked('ann", "amount": 1')


@pytest.mark.parametrize(
    ("version", "capabilities", "can"),
    [
        ("2026-07-28", {"elicitation": {}}, True),
        ("2026-07-28", {"elicitation": {"form": {}}}, True),
        ("2026-07-28", {"elicitation": {"form": {}, "url": {}}}, True),
        ("2026-07-28", {"elicitation": {"url": {}}}, False),
        ("2026-07-28", {}, False),
        ("2025-11-25", {"elicitation": {}}, False),
        ("2025-06-18", {"elicitation": {"form": {}}}, False),
        ("2027-01-01", {"elicitation": {}}, True),
    ],
)
def test_only_a_client_with_forms_in_this_era_can_be_asked(
    version: str, capabilities: dict[str, dict[str, dict[str, str]]], *, can: bool
) -> None:
    declared = ClientCapabilities.model_validate(capabilities)
    assert can_be_asked(version, declared) is can


def test_a_client_that_declared_nothing_cannot_be_asked() -> None:
    assert not can_be_asked("2026-07-28", None)
