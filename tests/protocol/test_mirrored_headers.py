"""Arguments that headers repeat (`x-mcp-header`): the two agree, or the call is refused.

Source: MCP 2026-07-28 basic/transports/streamable-http (Mcp-Param headers).
"""

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from lib.contract import Call, Query
from tests.harness.servers import client_of, in_process
from tests.harness.stack import Stack
from tests.harness.wire import Mcp

HEADER_MISMATCH = -32020


class Where(BaseModel):
    """One argument that a header repeats."""

    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]


async def give(asked: Where, _call: Call) -> Where:
    return asked


TOOL: Query[Any, Any] = Query(
    name="get_region",
    toolset="test",
    description="Repeat a region.",
    arguments=Where,
    result=Where,
    perform=give,
)


@pytest.mark.parametrize(
    ("header", "status"), [({"Mcp-Param-Region": "eu"}, 200), ({"Mcp-Param-Region": "us"}, 400)]
)
async def test_a_header_that_repeats_an_argument_must_agree_with_it(
    stack: Stack, header: dict[str, str], status: int
) -> None:
    async with client_of(in_process(stack.env(), tools=[TOOL])) as http:
        request = Mcp(http=http).request(
            "tools/call", name="get_region", arguments={"region": "eu"}
        )
        request.headers.update(header)
        answer = await http.send(request)
    assert answer.status_code == status
    if status != 200:
        assert answer.json()["error"]["code"] == HEADER_MISMATCH
