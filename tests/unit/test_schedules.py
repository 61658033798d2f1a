"""No record ends before its holder does, and no duration is too short to begin anything."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lib.contract import Keyed, Lookup, Unaskable
from lib.machinery.catalogue import catalogue_of
from lib.machinery.deployment import Ambient, Deployment, deploy
from lib.machinery.runner.deadline import Clock
from lib.settings import Misconfigured
from tests.harness.settings import FULL, PREVIEW, given
from tests.unit.test_declarations import COMMAND, QUERY, ask

AMBIENT = Ambient(
    clock=Clock(steady=lambda: 0.0, wall=lambda: 0.0),
    new_id=lambda: "",
    platform_end=lambda: None,
)
SENT = replace(COMMAND, backend=Unaskable())
NINETY_S = 90 * 86_400
SMALL = {"BACKEND_TIMEOUT_S": "0.1", "COMMIT_BUDGET_S": "0.5"}


def faults(*tools: Any, **env: str) -> dict[str, str]:
    deployed = deploy(given({**FULL, **env}), catalogue_of(tools), AMBIENT)
    found = deployed.faults if isinstance(deployed, Misconfigured) else ()
    return {fault.variable: fault.problem for fault in found}


@pytest.mark.parametrize("name", ["MAX_DURATION_S", "KILL_SLACK_S"])
@pytest.mark.parametrize("value", ["1e300", str(NINETY_S), str(NINETY_S - 60)])
def test_a_lease_that_outlives_its_record_is_a_fault(name: str, value: str) -> None:
    told = faults(SENT, **{name: value})
    assert list(told) == [name]
    assert "create_order, kept 90 days" in told[name]


def test_a_lease_that_ends_before_its_record_is_none() -> None:
    assert faults(SENT, MAX_DURATION_S=str(NINETY_S - 60 - 6)) == {}


@pytest.mark.parametrize(
    "backend",
    [
        Lookup(settle_time=timedelta(days=90, seconds=-65)),
        Keyed(
            window=timedelta(days=400),
            sticky=False,
            lookup=timedelta(days=90, seconds=-65),
        ),
    ],
)
def test_what_is_in_flight_when_its_record_ends_is_a_fault(backend: Any) -> None:
    tool = replace(COMMAND, backend=backend, ask=ask)
    assert list(faults(tool)) == ["MAX_DURATION_S"]  # the defaults: 60 and 5
    assert faults(tool, MAX_DURATION_S="59") == {}


def test_a_lease_longer_than_the_slack_of_a_key_window_is_a_fault() -> None:
    tool = replace(COMMAND, backend=Keyed(window=timedelta(seconds=1250), sticky=False))
    assert faults(tool) == {}
    assert list(faults(tool, MAX_DURATION_S="61")) == ["MAX_DURATION_S"]
    assert list(faults(tool, KILL_SLACK_S="61")) == ["KILL_SLACK_S"]


def test_a_duration_in_which_no_command_could_be_sent_is_a_fault() -> None:
    told = faults(SENT, MAX_DURATION_S="1.5", **SMALL)
    assert list(told) == ["MAX_DURATION_S"]
    assert faults(SENT, MAX_DURATION_S="1.51", **SMALL) == {}


def test_a_short_duration_will_do_where_nothing_is_sent() -> None:
    assert faults(QUERY, MAX_DURATION_S="1.5", **SMALL) == {}
    preview = given({**PREVIEW, "MAX_DURATION_S": "1.5", **SMALL})
    assert isinstance(deploy(preview, catalogue_of([SENT]), AMBIENT), Deployment)


def test_a_silent_store_may_outlast_a_small_commit_budget() -> None:
    small = {**SMALL, "MAX_DURATION_S": "5", "STORE_TIMEOUT_S": "1.5", "KILL_SLACK_S": "0.1"}
    assert faults(SENT, **small) == {}
