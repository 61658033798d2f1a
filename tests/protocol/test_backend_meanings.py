"""An adapter's own list of meanings: what a backend with other codes and promises needs."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
import respx
from pydantic import BaseModel, field_validator

from lib.backend.answers import Meanings
from lib.backend.wire import Wire
from lib.contract import BackendError, RefusedError
from lib.settings import Address
from tests.protocol.backend_calls import COMMAND, URL, proof_of


class Done(BaseModel):
    done: bool = True


class Fragile(BaseModel):
    done: bool

    @field_validator("done")
    @classmethod
    def _stumbles(cls, done: bool) -> bool:  # noqa: FBT001  pydantic calls it so
        return {False: done}[done]


def reason(body: Mapping[str, Any]) -> object:
    return body["reason"]


MEANINGS = Meanings(
    sentences={"seen": "Seen.", "closed": "Closed.", "key_in_use": "Wait."},
    duplicate=frozenset({(422, "seen")}),
    key_in_use=frozenset({(423, "running")}),
    not_processed=frozenset({(503, "closed"), (500, "unlisted"), (500, "")}),
    replayed="X-Replayed",
    code_of=reason,
)


async def send(answer: httpx.Response, model: type[BaseModel] = Done) -> BaseModel:
    wire = Wire(Address(url=URL, token="t"), MEANINGS)
    with respx.mock() as mocked:
        mocked.route().mock(return_value=answer)
        return await wire.exchange("DELETE /things/7", model, COMMAND)


def answer(status: int, code: object = None, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"reason": code}, headers=headers)


@pytest.mark.parametrize(
    ("came", "told"),
    [
        (answer(422, "seen"), ("OccurredError", "duplicate", None)),
        (answer(409, "seen"), ("RefusedError", "seen", None)),
        (answer(423, "running"), ("BackendSilentError", "key_in_use", 5_000)),
        (answer(503, "closed", **{"Retry-After": "2"}), ("NotExecutedError", "closed", 2_000)),
        (answer(500, "closed"), ("BackendSilentError", "closed", None)),
        (answer(500, "unlisted"), ("NotExecutedError", "refused", None)),
        (answer(500), ("NotExecutedError", "refused", None)),
        (answer(502), ("BackendSilentError", "unclear", None)),
        (httpx.Response(400, json={"error": {"code": "seen"}}), ("RefusedError", "refused", None)),
    ],
)
def test_a_status_and_a_code_mean_what_the_adapter_lists(
    came: httpx.Response, told: object
) -> None:
    assert asyncio.run(proof_of(send(came))) == told


def test_a_key_in_use_reads_the_adapters_sentence_where_it_has_one() -> None:
    with pytest.raises(BackendError) as told:
        asyncio.run(send(answer(423, "running")))
    assert told.value.message == "Wait."


@pytest.mark.parametrize(
    ("header", "by_key"),
    [({"X-Replayed": "True"}, True), ({"X-Replayed": "no"}, False), ({}, False)],
)
def test_a_refusal_is_by_key_only_where_the_backend_says_that_it_replays(
    header: dict[str, str], *, by_key: bool
) -> None:
    with pytest.raises(RefusedError) as refused:
        asyncio.run(send(answer(422, "closed", **header)))
    assert refused.value.by_key is by_key


def test_a_success_without_content_reads_as_a_model_that_needs_none() -> None:
    occurred = ("OccurredError", "answer_unreadable", None)
    assert asyncio.run(send(httpx.Response(204))) == Done()
    assert asyncio.run(proof_of(send(httpx.Response(204), Fragile))) == occurred
    assert asyncio.run(proof_of(send(httpx.Response(200)))) == occurred


def test_a_success_on_which_a_validator_stumbles_occurred() -> None:
    stumbled = send(httpx.Response(200, json={"done": True}), Fragile)
    assert asyncio.run(proof_of(stumbled)) == ("OccurredError", "answer_unreadable", None)
