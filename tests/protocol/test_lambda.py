"""The application behind AWS Lambda: several events in one process, and a deadline for each."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.harness.lambda_host import Function, cold_function, warm_function
from tests.harness.stack import READ_KEY, WRITE_KEY, Stack
from tests.harness.wire import META, MODERN

HOST = "abc123.lambda-url.eu-central-1.on.aws"
NEW: dict[str, Any] = {"name": "läßt\N{SNOWMAN}", "quantity": 1}

type Build = Callable[[str, dict[str, str], bytes], dict[str, Any]]


def function_url(path: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """Build the event of a Function URL, which encodes every body."""
    event = api_gateway(path, headers, b"")
    event["requestContext"] |= {"domainName": HOST, "apiId": "abc123"}
    return event | {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def api_gateway(path: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """Build the event of an HTTP API, payload format 2.0."""
    method = headers.pop(":method", "POST")
    http = {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.7"}
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"host": HOST, "x-forwarded-proto": "https", **headers},
        "requestContext": {"stage": "$default", "requestId": "r", "http": http},
        "body": body.decode(),
        "isBase64Encoded": False,
    }


def post(tool: str, *, key: str = WRITE_KEY, **arguments: Any) -> tuple[str, dict[str, str], bytes]:
    meta: dict[str, Any] = {f"{META}/protocolVersion": MODERN, f"{META}/clientCapabilities": {}}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "accept": "application/json",
        "authorization": f"Bearer {key}",
        "content-type": "application/json",
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    return "/mcp", headers, json.dumps(body, ensure_ascii=False).encode()


def told(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["statusCode"] == 200, answer
    return json.loads(answer["body"])["result"]["structuredContent"]


@pytest.fixture
def function(stack: Stack) -> Iterator[Function]:
    with warm_function(env_of(stack)) as warm:
        warm.invoke(api_gateway(*post("list_items")))
        yield warm


def env_of(stack: Stack) -> dict[str, str]:
    return stack.env(ALLOWED_HOSTS=HOST, MAX_DURATION_S="20")


@pytest.fixture(params=[function_url, api_gateway])
def build(request: pytest.FixtureRequest) -> Build:
    return request.param


def test_one_function_queries_commands_replays_and_refuses(
    stack: Stack, function: Function, build: Build
) -> None:
    create = post("create_item", **NEW, idempotency_key="k")
    done, again = (told(function.invoke(build(*create))) for _ in range(2))
    found = told(function.invoke(build(*post("get_item", item_id=done["result"]["id"]))))
    refused = post("create_item", key=READ_KEY, **NEW, idempotency_key="other")
    withheld = function.invoke(build(*refused))
    assert (done["outcome"], done["this_call"]) == ("succeeded", "executed")
    assert again == {**done, "this_call": "replayed"}
    assert (found, found["name"]) == (done["result"], NEW["name"])
    assert withheld["statusCode"] == 403
    assert 'scope="call:write_tools"' in withheld["headers"]["www-authenticate"]
    assert stack.items.effects().created == 1


def test_a_command_starts_only_where_lambda_leaves_it_time(
    stack: Stack, function: Function, build: Build
) -> None:
    create = post("create_item", **NEW, idempotency_key="k")
    late = told(function.invoke(build(*create), left_ms=1_500))
    none = told(function.invoke(build(*create), left_ms=0))
    done = told(function.invoke(build(*create), left_ms=8_000))
    for each in (late, none):
        assert (each["outcome"], each["error"]["code"]) == ("not_executed", "no_time")
    assert (done["outcome"], stack.items.effects().created) == ("succeeded", 1)


def test_a_cold_function_keeps_its_connections_from_one_event_to_the_next(stack: Stack) -> None:
    peers: set[tuple[str, int]] = set()
    inner = stack.front.app

    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        peers.add(scope["client"])
        await inner(scope, receive, send)

    stack.front.app = noting
    with cold_function(env_of(stack)) as function:
        for key in "abc":
            event = api_gateway(*post("create_item", **NEW, idempotency_key=key))
            assert told(function.invoke(event))["outcome"] == "succeeded"
    assert len(peers) == 1


def test_what_is_not_ours_is_answered_as_everywhere(function: Function, build: Build) -> None:
    page = function.invoke(build("/", {":method": "GET"}, b""))
    stream = function.invoke(build("/mcp", {":method": "GET"}, b""))
    stranger = function.invoke(build("/mcp", {"host": "other.example"}, b""))
    assert (page["statusCode"], page["isBase64Encoded"]) == (200, False)
    assert page["headers"]["content-type"].startswith("text/html")
    assert (stream["statusCode"], stream["headers"]["allow"]) == (405, "POST")
    assert stranger["statusCode"] == 421


def test_without_settings_a_function_names_what_is_missing(stack: Stack, build: Build) -> None:
    env = {name: value for name, value in stack.env().items() if name != "BACKEND_URL"}
    with warm_function({**env, "ALLOWED_HOSTS": HOST}) as function:
        refused = function.invoke(build(*post("list_items")))
    assert refused["statusCode"] == 503
    assert "BACKEND_URL" in refused["body"]
