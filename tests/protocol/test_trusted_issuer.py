"""A server that trusts an issuer: where it sends its clients, and whom a good token names.

Source: RFC 9728 §3 (the metadata), RFC 6750 §3 (the challenge); DESIGN §7.
"""

import time
from collections.abc import Generator

import httpx
import pytest

from lib.machinery.gate.challenge import METADATA_PATH
from lib.machinery.runner.deadline import Clock
from tests.harness.audit import audit_lines
from tests.harness.servers import client_of, in_process
from tests.harness.stack import READ_KEY, Stack
from tests.harness.wire import Mcp
from tests.protocol.jwks import AT, AUDIENCE, ISSUER, Issuer, Signer, serve_issuer

SIGNER = Signer.es256("k1")
METADATA = f"http://127.0.0.1{METADATA_PATH}"


@pytest.fixture(scope="module")
def issuer() -> Generator[Issuer]:
    with serve_issuer() as served:
        served.publish(SIGNER)
        yield served


def env(stack: Stack, issuer: Issuer) -> dict[str, str]:
    """Name the environment of a development server, to which plain HTTP is near enough."""
    return stack.env(
        VERCEL_ENV="development",
        AUTH_ISSUER=ISSUER,
        AUTH_AUDIENCE=AUDIENCE,
        AUTH_JWKS_URL=issuer.url,
    )


def client(stack: Stack, issuer: Issuer) -> httpx.AsyncClient:
    clock = Clock(steady=time.monotonic, wall=lambda: float(AT))
    return client_of(in_process(env(stack, issuer), clock=clock))


async def test_a_client_without_a_credential_finds_the_issuer_by_two_steps(
    shared_stack: Stack, issuer: Issuer
) -> None:
    async with client(shared_stack, issuer) as http:
        refused = await Mcp(http=http, key=None).send("tools/list")
        told = await http.get(METADATA)
    assert refused.status_code == 401
    assert f'resource_metadata="{METADATA}"' in refused.headers["www-authenticate"]
    assert told.json() == {
        "resource": "http://127.0.0.1/mcp",
        "authorization_servers": [ISSUER],
        "scopes_supported": ["call:tools", "call:write_tools"],
        "bearer_methods_supported": ["header"],
    }


async def test_a_missing_scope_names_the_metadata_too(shared_stack: Stack, issuer: Issuer) -> None:
    async with client(shared_stack, issuer) as http:
        refused = await Mcp(http=http, key=READ_KEY).send("tools/call", name="create_item")
    assert refused.status_code == 403
    assert f'resource_metadata="{METADATA}"' in refused.headers["www-authenticate"]


async def test_a_tokens_decisions_are_written_down_by_issuer_and_subject(
    shared_stack: Stack, issuer: Issuer
) -> None:
    with audit_lines() as lines:
        async with client(shared_stack, issuer) as http:
            token = SIGNER.token(scope="call:tools")
            listed = await Mcp(http=http, key=token).call("list_items")
    assert listed["isError"] is False
    assert [(line["actor"], line["grant"]) for line in lines] == [(f"{ISSUER} ada", ["call:tools"])]


async def test_a_host_that_is_not_served_is_told_no_issuer(
    shared_stack: Stack, issuer: Issuer
) -> None:
    async with client(shared_stack, issuer) as http:
        refused = await http.get(METADATA_PATH, headers={"Host": "evil.example"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (421, "host_not_allowed")


async def test_a_server_that_lacks_a_setting_names_it_in_place_of_its_issuer(
    shared_stack: Stack, issuer: Issuer
) -> None:
    lacking = {
        name: text for name, text in env(shared_stack, issuer).items() if name != "AUTH_ISSUER"
    }
    async with client_of(in_process(lacking)) as http:
        refused = await http.get(METADATA_PATH)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (503, "misconfigured")
    assert [fault["variable"] for fault in error["faults"]] == ["AUTH_ISSUER"]
