"""A command's schema: closed wherever an object is described, and nowhere else."""

from datetime import timedelta
from typing import Any

from pydantic import BaseModel, ConfigDict

from lib.contract import Call, Command, Keyed
from lib.machinery.describe import input_schema

CONDITION: dict[str, Any] = {"properties": {"kind": {"const": "post"}}}


class Place(BaseModel):
    street: str


class Parcel(BaseModel):
    model_config = ConfigDict(json_schema_extra={"if": CONDITION, "then": {"required": ["to"]}})

    kind: str
    to: Place
    properties: str


async def send(_asked: Parcel, _call: Call) -> Place:
    raise NotImplementedError


SEND = Command(
    name="send_parcel",
    toolset="parcels",
    description="Send a parcel.",
    arguments=Parcel,
    result=Place,
    perform=send,
    backend=Keyed(window=timedelta(hours=1), sticky=False),
    destructive=False,
    target="the post",
)


def test_every_object_of_a_command_is_closed() -> None:
    schema = input_schema(SEND)
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Place"]["additionalProperties"] is False


def test_a_condition_about_an_object_stays_open() -> None:
    assert input_schema(SEND)["if"] == CONDITION


def test_a_field_called_properties_is_a_field() -> None:
    named = {"kind", "to", "properties", "idempotency_key"}
    assert input_schema(SEND)["properties"].keys() == named
