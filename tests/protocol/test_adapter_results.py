"""A result that cannot be read, written or kept is a success all the same, to whoever heard of it.

Source: PROTOCOL §1.3, §6 (any 2xx occurred), §9 (what is not kept).
"""

import json
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from pydantic import BaseModel, computed_field, field_serializer, model_serializer, model_validator

from lib.contract import Call, Lookup, OccurredError
from lib.machinery.runner.record import Seen
from lib.machinery.runner.store import Stored
from tests.harness.adapters import Asked, Done, command, found, giving, raising
from tests.harness.audit import audit_lines
from tests.harness.kinds import named
from tests.harness.seeds import LOOKUP, seeds_of
from tests.harness.servers import client_of, in_process
from tests.harness.stack import CRON_SECRET, Stack
from tests.harness.wire import Mcp


class Computed(Done):
    @computed_field
    @property
    def total(self) -> int:
        raise KeyError("total")


class FieldWritten(Done):
    @field_serializer("id")
    def _written(self, _: str) -> str:
        raise TypeError("id")


class Written(Done):
    @model_serializer
    def _written(self) -> dict[str, Any]:
        raise ZeroDivisionError


class Validated(Done):
    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, value: dict[str, Any]) -> dict[str, Any]:
        return {"id": value["number"]}


class Unwritten(Done):
    id: Any = None


ODD: dict[str, tuple[type[BaseModel], Any]] = {
    "a field that cannot be computed": (Computed, Computed()),
    "a field that cannot be written": (FieldWritten, FieldWritten()),
    "a model that cannot be written": (Written, Written()),
    "a validator that stumbles": (Validated, {"id": "1"}),
    "no model at all": (Done, 7),
    "no text": (Unwritten, Unwritten(id="\ud800")),
}


@pytest.mark.parametrize("heard", ["result", "occurred"])
@pytest.mark.parametrize("what", ODD)
async def test_a_command_whose_answer_is_unfit_succeeded(
    shared_stack: Stack, what: str, heard: str
) -> None:
    declared, value = ODD[what]
    does = giving(value) if heard == "result" else raising(OccurredError("late", result=value))
    app = in_process(shared_stack.env(), tools=[command(does, result=declared)])
    async with client_of(app) as http:
        with audit_lines() as lines:
            first, again = [
                await Mcp(http=http).settle("send_thing", idempotency_key="k") for _ in "12"
            ]
    assert (first["outcome"], first["result"]) == ("succeeded", None)
    assert first["error"]["code"] == "answer_not_kept"
    assert again == first | {"this_call": "replayed"}
    assert [line["outcome"] for line in lines] == ["succeeded", "succeeded"]


async def test_an_answer_too_deep_to_be_read_back_is_told_once(shared_stack: Stack) -> None:
    deep: Any = "1"
    for _ in range(210):  # serializers write 255 levels, the record's reader takes 200
        deep = [deep]
    tool = command(giving(Unwritten(id=deep)), result=Unwritten)
    async with client_of(in_process(shared_stack.env(), tools=[tool])) as http:
        first, again = [
            await Mcp(http=http).settle("send_thing", idempotency_key="k") for _ in "12"
        ]
    assert (first["outcome"], first["result"], first["error"]) == ("succeeded", {"id": deep}, None)
    assert (again["outcome"], again["result"]) == ("succeeded", None)
    assert again["error"]["code"] == "answer_not_kept"


@pytest.mark.parametrize("what", ODD)
async def test_an_effect_that_was_found_is_one_whatever_it_shows(
    shared_stack: Stack, what: str
) -> None:
    declared, value = ODD[what]
    lookup = Lookup(settle_time=timedelta(milliseconds=100))
    tool = command(giving(Done()), backend=lookup, result=declared, ask=found(value))
    app = in_process(shared_stack.env(), tools=[tool])
    async with seeds_of(shared_stack) as seeds, client_of(app) as http:
        for key in ("asked", "swept"):
            await seeds.begun(key, LOOKUP, arguments=Asked(), tool=tool.name)
        said = await Mcp(http=http).settle("send_thing", idempotency_key="asked")
        bearer = {"Authorization": f"Bearer {CRON_SECRET}"}
        swept = (await http.get("/api/cron/reconcile", headers=bearer)).json()
    assert (said["outcome"], said["this_call"]) == ("succeeded", "recovered")
    assert swept == {"looked": 1, "settled": 1, "in_doubt": 0, "left": 0}


NUMBERS: dict[str, Any] = {
    "the last integer of a float": 2**53,
    "an integer of 60 bits": 2**60,
    "an integer of 80 bits": -(2**80),
    "an integer among others": {
        "b": [1.0, 2**64, {"z": 1, "é": 10.5}],
        "a": 1e300,
        "\U0001f600": 0,
    },
}


@pytest.mark.parametrize("what", NUMBERS)
async def test_an_integer_beyond_a_float_is_kept_as_it_was_told(
    shared_stack: Stack, what: str
) -> None:
    tool = command(giving(Unwritten(id=NUMBERS[what])), result=Unwritten)
    async with (
        seeds_of(shared_stack) as seeds,
        client_of(in_process(shared_stack.env(), tools=[tool])) as http,
    ):
        asked = {"name": "send_thing", "arguments": {"idempotency_key": "k"}}
        first, again = [(await Mcp(http=http).send("tools/call", **asked)).text for _ in "12"]
        record = await seeds.record("k")
    assert json.loads(first)["result"]["structuredContent"]["result"] == {"id": NUMBERS[what]}
    told = first.replace("Done.", "Done by an earlier call with this key; not executed again.")
    # To the byte, but for whose call it was; the envelope stands in it twice, once as text.
    told = told.replace('"executed"', '"replayed"').replace('\\"executed\\"', '\\"replayed\\"')
    assert again == told
    assert record is not None
    assert record.answer is not None
    assert record.digest == sha256(record.answer.encode()).hexdigest()


async def test_another_answer_with_such_an_integer_is_a_conflict(shared_stack: Stack) -> None:
    async def sends(_: Asked, __: Call) -> Unwritten:
        seen = await seeds.store.read(named("k").id)
        assert isinstance(seen, Seen)
        first = replace(
            seen.record, state="committed", answer='{"id":1}', digest="1", ttl_ms=60_000
        )
        assert isinstance(await seeds.store.swap(named("k").id, seen=seen, record=first), Stored)
        return Unwritten(id=2**60)

    tool = command(sends, result=Unwritten)
    async with (
        seeds_of(shared_stack) as seeds,
        client_of(in_process(shared_stack.env(), tools=[tool])) as http,
    ):
        said = await Mcp(http=http).settle("send_thing", idempotency_key="k")
        record = await seeds.record("k")
    assert said["result"] == {"id": 1}
    assert record is not None
    assert (record.conflicts, record.conflict) == (1, f'{{"id":{2**60}}}')
