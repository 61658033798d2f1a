"""What a caller is told of wrong arguments: fields and rules, and nothing of what was sent.

Source: DESIGN §6 (no value is ever told).
"""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from lib.contract import Call, Command, Unaskable
from lib.machinery.inputs import InputError, command_arguments

SECRET = "what-the-caller-sent"


class Parcel(BaseModel):
    """One way to send."""

    way: Literal["parcel"]
    weight_g: int


class Letter(BaseModel):
    """Another."""

    way: Literal["letter"]


class Sending(BaseModel):
    """Arguments of several kinds."""

    by: Annotated[Parcel | Letter, Field(discriminator="way")]
    note: str = ""


async def _perform(sending: Sending, _call: Call) -> Sending:
    return sending


SEND = Command(
    name="send_thing",
    toolset="test",
    description="Send a thing.",
    arguments=Sending,
    result=Sending,
    perform=_perform,
    backend=Unaskable(),
    destructive=False,
    target="a test",
)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"by": {"way": SECRET}}, "by: Input tag does not match any of the expected tags"),
        ({"by": {"way": "parcel", "weight_g": SECRET}}, "by.parcel.weight_g: Input should be a"),
        ({"by": {"way": "letter"}, SECRET + "?": 1}, "(a name): Extra inputs are not permitted"),
        ({"note": f"{SECRET}\ud800"}, "arguments: Input should be valid Unicode and JSON"),
    ],
)
def test_a_problem_names_a_field_and_a_rule_and_repeats_no_input(
    sent: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError) as refused:
        command_arguments(SEND, {**sent, "idempotency_key": "k"})
    (problem,) = refused.value.problems
    assert problem.startswith(told)
    assert SECRET not in str(refused.value)
