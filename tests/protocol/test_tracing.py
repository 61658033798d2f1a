"""Whoever configures OpenTelemetry gets a span of each call; nobody else pays for one."""

import json
import subprocess
import sys

import pytest

from tests.harness.servers import ROOT
from tests.harness.stack import Stack

# A provider is set once per process, so each case has its own. It writes the names of spans.
SCRIPT = """
import asyncio, json, sys
from opentelemetry import trace
from tests.harness.servers import client_of, in_process
from tests.harness.wire import Mcp

class Tracer(trace.NoOpTracer):
    def start_as_current_span(self, name, *args, **more):
        print(name)
        return super().start_as_current_span(name, *args, **more)

class Provider(trace.NoOpTracerProvider):
    def get_tracer(self, *args, **more):
        return Tracer()

async def main(env, is_traced):
    if is_traced:
        trace.set_tracer_provider(Provider())
    async with client_of(in_process(env)) as http:
        print((await Mcp(http=http).call("list_toolsets"))["resultType"])

asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2] == "traced"))
"""


@pytest.mark.parametrize(
    ("kind", "written"),
    [("traced", ["tools/call list_toolsets", "complete"]), ("untraced", ["complete"])],
)
def test_a_call_has_a_span_where_a_tracer_is_configured(
    stack: Stack, kind: str, written: list[str]
) -> None:
    found = subprocess.run(  # noqa: S603  our own interpreter and arguments
        [sys.executable, "-c", SCRIPT, json.dumps(stack.env()), kind],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert found.stdout.splitlines() == written
