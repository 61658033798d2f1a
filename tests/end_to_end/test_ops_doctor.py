"""`lib.ops doctor` as a person and a pipeline run it: exit status, JSON, and no secret in sight."""

from collections.abc import Callable

import pytest

from tests.harness.operator import Ran, ops, ops_by_the_readme
from tests.harness.stack import (
    CRON_SECRET,
    READ_TOKEN,
    STATE_KEY,
    STORE_READ_TOKEN,
    STORE_TOKEN,
    WRITE_TOKEN,
    Stack,
)

SECRETS = (READ_TOKEN, WRITE_TOKEN, STORE_TOKEN, STORE_READ_TOKEN, STATE_KEY, CRON_SECRET)
ACCEPT = ("--accept", "store_round_trip")  # this machine may be busy


@pytest.mark.parametrize("run", [ops, ops_by_the_readme])
def test_a_healthy_environment_ends_with_0(stack: Stack, run: Callable[..., Ran]) -> None:
    ran = run(stack.env(), "doctor", "--json", *ACCEPT)

    assert (ran.code, ran.said["needs_attention"], ran.err) == (0, False, "")
    assert {each["status"] for each in ran.said["checks"]} <= {"ok", "accepted"}


def test_everything_wrong_at_once_is_named_with_what_to_do_and_ends_with_1(stack: Stack) -> None:
    env = stack.env(
        BACKEND_READ_TOKEN=WRITE_TOKEN,
        KV_REST_API_URL="http://127.0.0.1:1",
        CRON_SECRET="",
        STATE_KEY="",
        STORE_TIMEOUT_S="soon",
    )

    ran = ops(env, "doctor", "--json")

    ill = [each for each in ran.said["checks"] if each["status"] in {"attention", "failed"}]
    assert ran.code == 1
    assert [each["check"] for each in ill] == [
        *["settings"] * 2,
        "sweeper",
        "store",
        "store_read_only",
        "backend_wall",
    ]
    assert all(each["advice"] for each in ill)


def test_an_empty_environment_is_told_every_name_it_lacks_and_nothing_is_tried() -> None:
    ran = ops({"VERCEL": "1", "VERCEL_ENV": "production"}, "doctor", "--json")

    found = ran.said["checks"]
    missing = [each["seen"].partition(":")[0] for each in found if each["check"] == "settings"]
    assert ran.code == 1
    assert missing == [
        "BACKEND_URL",
        "BACKEND_READ_TOKEN",
        "BACKEND_WRITE_TOKEN",
        "KV_REST_API_URL",
        "KV_REST_API_TOKEN",
        "AGENT_KEYS",
        "STATE_KEY",
    ]
    tried = [each for each in found if each["check"].startswith(("store", "backend"))]
    assert {each["status"] for each in tried} == {"skipped"}


def test_no_output_shows_a_secret_or_is_coloured_when_piped(stack: Stack) -> None:
    faulty = stack.env(STATE_KEY="short-secret", BACKEND_READ_TOKEN=WRITE_TOKEN)
    said = [
        ops(env, "doctor", *form) for env in (stack.env(), faulty) for form in ((), ("--json",))
    ]

    for ran in said:
        shown = ran.out + ran.err
        assert not [secret for secret in (*SECRETS, "short-secret") if secret in shown]
        assert "\x1b" not in shown


def test_a_store_that_is_not_there_leaves_the_other_commands_with_2(stack: Stack) -> None:
    env = stack.env(KV_REST_API_URL="http://127.0.0.1:1")

    ran = ops(env, "list", "--json")

    assert (ran.code, ran.said["error"]["code"]) == (2, "store_silent")
