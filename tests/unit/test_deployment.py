"""What one deployment has, whoever asks for it."""

import pytest

from lib.machinery.builtins import builtin_queries
from lib.machinery.catalogue import catalogue_of
from lib.machinery.deployment import Ambient, Deployment, deploy
from lib.machinery.runner.deadline import Clock
from lib.machinery.server import mcp_server
from tests.harness.settings import FULL, PREVIEW, given

AMBIENT = Ambient(
    clock=Clock(steady=lambda: 0.0, wall=lambda: 0.0),
    new_id=lambda: "id",
    platform_end=lambda: None,
)


def deployed(env: dict[str, str]) -> Deployment:
    deployment = deploy(given(env), catalogue_of([], builtin_queries()), AMBIENT)
    assert isinstance(deployment, Deployment)
    return deployment


async def test_a_preview_has_no_store_to_change_not_even_past_the_gate() -> None:
    with pytest.raises(RuntimeError, match="no store for"):
        await deployed(PREVIEW).store()


def test_the_layer_that_records_spans_is_there_for_whoever_records_them() -> None:
    assert mcp_server(deployed(FULL), with_spans=True).middleware != []
    assert mcp_server(deployed(FULL), with_spans=False).middleware == []
