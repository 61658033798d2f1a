"""The tools that the official suite calls by name, as far as this template can offer them.

Source: @modelcontextprotocol/conformance, "Server Implementation Requirements" of each scenario.
"""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lib.contract import Call, Command, Keyed, Query, RefusedError, Tool
from lib.machinery.builtins import builtin_queries


class Nothing(BaseModel):
    """No arguments."""


class Text(BaseModel):
    """A text."""

    text: str


class Region(BaseModel):
    """An argument that a client repeats as the header `Mcp-Param-Region` (SEP-2243)."""

    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]


class address(BaseModel):  # noqa: N801  pydantic calls a definition as its class is called
    """An address."""

    model_config = ConfigDict(json_schema_extra={"$anchor": "addressDef"})

    street: str = ""
    city: str = ""


class Contact(BaseModel):
    """Arguments whose schema uses what JSON Schema 2020-12 added (SEP-1613, SEP-2106)."""

    model_config = ConfigDict(
        json_schema_extra={
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {
                "properties": {"contactMethod": {"const": "phone"}},
                "required": ["contactMethod"],
            },
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
        }
    )

    name: str = ""
    home: address | None = None
    contactMethod: Literal["phone", "email"] = "email"  # noqa: N815  the suite's own name
    phone: str = ""
    email: str = ""


async def simple_text(_asked: BaseModel, _call: Call) -> Text:
    """Answer the text that the suite looks for."""
    return Text(text="This is a simple text response for testing.")


async def error_handling(_asked: BaseModel, _call: Call) -> Text:
    """Fail as a backend does."""
    raise RefusedError("refused", "This tool intentionally returns an error for testing.")


def query(name: str, arguments: type[BaseModel] = Nothing, perform: Any = simple_text) -> Tool:
    """Declare a fixture that changes nothing."""
    return Query(
        name=name,
        toolset="fixtures",
        description=f"A fixture of the conformance suite: {name}.",
        arguments=arguments,
        result=Text,
        perform=perform,
    )


def command(name: str, arguments: type[BaseModel] = Nothing, *, approval: bool = False) -> Tool:
    """Declare a fixture under a key; with `approval`, one that asks a person first."""
    return Command(
        name=name,
        toolset="fixtures",
        description=f"A fixture of the conformance suite: {name}.",
        arguments=arguments,
        result=Text,
        perform=simple_text,
        backend=Keyed(window=timedelta(hours=1), sticky=False),
        destructive=False,
        target="nothing",
        approval=approval,
    )


# Asking for approval is the one thing for which a call needs a second round here.
APPROVED = (
    "test_input_required_result_elicitation",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_streaming_elicitation",
)


def tools() -> tuple[Tool, ...]:
    """List the fixtures."""
    return (
        query("test_simple_text"),
        query("test_error_handling", perform=error_handling),
        query("test_logging_tool"),
        query("test_header", Region),
        *builtin_queries(),
        command("json_schema_2020_12_tool", Contact),
        *(command(name, approval=True) for name in APPROVED),
    )
