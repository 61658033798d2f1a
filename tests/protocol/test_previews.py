"""Previews: every subset of the variables that matter, against a rule written here by hand.

A preview that could write refuses everything; one with all four scratch names writes there only.
"""

import logging
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

import pytest

from lib.settings import Misconfigured, Settings, checked
from tests.harness.listed import QUERIES
from tests.harness.servers import client_of, in_process
from tests.harness.settings import FULL, PREVIEW, SCRATCH, faults_of
from tests.harness.stack import CRON_SECRET, READ_KEY, WRITE_KEY, Stack
from tests.harness.wire import Mcp

BARE = {
    name: FULL[name]
    for name in ("BACKEND_URL", "BACKEND_READ_TOKEN", "KV_REST_API_URL", "AGENT_KEYS", "STATE_KEY")
}
OPTIONAL = {
    "BACKEND_WRITE_TOKEN": FULL["BACKEND_WRITE_TOKEN"],
    "KV_REST_API_TOKEN": FULL["KV_REST_API_TOKEN"],
    "UPSTASH_REDIS_REST_TOKEN": FULL["KV_REST_API_TOKEN"],
    "KV_REST_API_READ_ONLY_TOKEN": FULL["KV_REST_API_READ_ONLY_TOKEN"],
    "UPSTASH_REDIS_REST_READ_ONLY_TOKEN": FULL["KV_REST_API_READ_ONLY_TOKEN"],
    **SCRATCH,
}
ENVIRONMENTS = ("production", "preview", "development", "staging", "")
POWERFUL = {"BACKEND_WRITE_TOKEN", "KV_REST_API_TOKEN", "UPSTASH_REDIS_REST_TOKEN"}


def subsets() -> Iterator[Mapping[str, str]]:
    for size in range(len(OPTIONAL) + 1):
        for names in combinations(OPTIONAL, size):
            yield {name: OPTIONAL[name] for name in names}


def rule(environment: str, present: set[str]) -> set[str]:
    """Say which variables are at fault: DESIGN §3's table, read line by line."""
    has_read_only = any("READ_ONLY" in name for name in present)
    has_read_write = bool(present & {"KV_REST_API_TOKEN", "UPSTASH_REDIS_REST_TOKEN"})
    if environment in {"production", "development", ""}:
        missing = set[str]() if "BACKEND_WRITE_TOKEN" in present else {"BACKEND_WRITE_TOKEN"}
        return missing | (set() if has_read_write else {"KV_REST_API_TOKEN"})
    wrong = present & POWERFUL
    wrong |= set() if has_read_only else {"KV_REST_API_READ_ONLY_TOKEN"}
    scratch = present & SCRATCH.keys()
    return wrong | (SCRATCH.keys() - scratch if scratch else set())


def test_every_subset_in_every_environment_has_the_expected_verdict() -> None:
    walked = 0
    for environment, optional in product(ENVIRONMENTS, subsets()):
        env = {**BARE, **optional, "VERCEL_ENV": environment or "development"}
        values: dict[str, Any] = {name.lower(): value for name, value in env.items()}
        settings = checked(Settings.model_construct(**values))  # as read, without the reading
        faults = settings.faults if isinstance(settings, Misconfigured) else ()
        expected = rule(environment, set(optional))
        assert {fault.variable for fault in faults} == expected, (environment, sorted(optional))
        if isinstance(settings, Settings):
            check_where_it_writes(
                settings, environment, has_scratch=SCRATCH.keys() <= set(optional)
            )
        walked += 1
    assert walked == 5 * 2**9


def check_where_it_writes(settings: Settings, environment: str, *, has_scratch: bool) -> None:
    written = (settings.write_backend, settings.write_store)
    urls = {address.url for address in written if address is not None}
    own = {FULL["BACKEND_URL"], FULL["KV_REST_API_URL"]}
    scratch = {SCRATCH["SCRATCH_BACKEND_URL"], SCRATCH["SCRATCH_REDIS_REST_URL"]}
    if environment in {"preview", "staging"}:
        assert urls == (scratch if has_scratch else set())
    else:
        assert urls == own


@pytest.mark.parametrize(
    "spelling",
    [
        "https://items.example", "https://items.example/", "https://ITEMS.example",
        "https://items.example:443", "https://items.example:443/", "https://items.example.",
        "https://items.example//", "https://items.example/./", "https://items.example/a/..",
        "https://items.example/%2e", "HTTPS://items.example", "https://items%2eexample",
        "https://user@items.example", "https://items.example?x=1", "https://items.example#x",
    ],
)  # fmt: skip
def test_a_scratch_url_cannot_be_the_own_one_in_disguise(spelling: str) -> None:
    for own, name in (
        ("BACKEND_URL", "SCRATCH_BACKEND_URL"),
        ("KV_REST_API_URL", "SCRATCH_REDIS_REST_URL"),
        ("UPSTASH_REDIS_REST_URL", "SCRATCH_REDIS_REST_URL"),
    ):
        env = {**PREVIEW, **SCRATCH, own: "https://items.example", name: spelling}
        if own == "UPSTASH_REDIS_REST_URL":
            del env["KV_REST_API_URL"]
        assert name in faults_of(env)


def test_loopback_has_one_name_only() -> None:
    env = {**PREVIEW, **SCRATCH, "BACKEND_URL": "http://127.0.0.1:3001"}
    for host in ("localhost", "[::1]", "127.0.0.1"):
        assert "SCRATCH_BACKEND_URL" in faults_of(
            {**env, "SCRATCH_BACKEND_URL": f"http://{host}:3001"}
        )
    assert faults_of({**env, "SCRATCH_BACKEND_URL": "http://localhost:3002"}) == {}


def preview_env(stack: Stack, **more: str) -> dict[str, str]:
    env = stack.env(VERCEL_ENV="preview", **more)
    return {name: value for name, value in env.items() if name not in POWERFUL - more.keys()}


async def test_a_preview_lists_and_performs_queries_only(stack: Stack) -> None:
    async with client_of(in_process(preview_env(stack))) as http:
        mcp = Mcp(http=http, key=WRITE_KEY)
        names = [tool["name"] for tool in (await mcp.result("tools/list"))["tools"]]
        done = await mcp.settle("create_item", name="lamp", quantity=1, idempotency_key="k")
        known = await mcp.call("get_operation", idempotency_key="k")
    assert names == QUERIES
    assert (done["outcome"], done["error"]["code"]) == ("forbidden", "preview")
    assert (done["side_effect"], done["retry"]["advice"]) == ("unknown", "never")
    assert known["structuredContent"]["known"] is False
    assert stack.items.effects().created == 0


async def test_a_preview_without_commands_has_nothing_to_sweep(stack: Stack) -> None:
    async with client_of(in_process(preview_env(stack))) as http:
        bearer = {"Authorization": f"Bearer {CRON_SECRET}"}
        swept = await http.get("/api/cron/reconcile", headers=bearer)
    assert swept.json() == {"looked": 0, "settled": 0, "in_doubt": 0, "left": 0}
    assert stack.front.exchanges == []


async def test_a_preview_that_could_write_answers_503_and_names_every_fault(
    stack: Stack, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = {
        "BACKEND_WRITE_TOKEN": "value-one-of-a-secret",
        "KV_REST_API_TOKEN": "value-two-of-a-secret",
        "UPSTASH_REDIS_REST_TOKEN": "value-two-of-a-secret",
        "SCRATCH_BACKEND_URL": "https://value-three.example",
    }
    async with client_of(in_process(preview_env(stack, **wrong))) as http:
        answers = [
            await Mcp(http=http, key=key, path=path).send("tools/list")
            for key, path in product((WRITE_KEY, READ_KEY, None), ("/mcp", "/mcp/readonly"))
        ]
        health, page = await http.get("/healthz"), await http.get("/")
        swept = await http.get("/api/cron/reconcile")
    for answer in (*answers, swept):
        assert answer.status_code == 503
        error = answer.json()["error"]
        assert error["code"] == "misconfigured"
        named = {fault["variable"] for fault in error["faults"]}
        assert named == (wrong.keys() | SCRATCH.keys()) - {"SCRATCH_BACKEND_URL"}
    assert (health.status_code, health.json()["status"]) == (200, "ok")
    assert all(variable in page.text for variable in wrong.keys() - {"SCRATCH_BACKEND_URL"})
    shown = " ".join([*(each.text for each in answers), health.text, page.text, caplog.text])
    values = [*wrong.values(), *preview_env(stack).values()]
    assert not [value for value in values if len(value) > 7 and value in shown]
    assert (stack.front.exchanges, stack.items.faults.seen) == ([], ())


@pytest.mark.parametrize("environment", ["staging", "Production", "preview-42"])
async def test_an_unheard_of_environment_is_as_powerless(stack: Stack, environment: str) -> None:
    env = preview_env(stack) | {"VERCEL_ENV": environment}
    async with client_of(in_process(env)) as http:
        done = await Mcp(http=http).settle("delete_item", item_id="1", idempotency_key="k")
        powerful = in_process({**env, "BACKEND_WRITE_TOKEN": "x"})
    assert done["error"]["code"] == "preview"
    async with client_of(powerful) as http:
        assert (await Mcp(http=http).send("tools/list")).status_code == 503
