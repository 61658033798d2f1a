"""A declared tool as `tools/list` shows it; everything that its kind fixes is fixed here.

Source: MCP 2026-07-28 server/tools (schemas, annotations); DESIGN §5, §6.
"""

import json
from functools import cache
from typing import Any, cast

from pydantic.json_schema import GenerateJsonSchema

from lib.contract import Command, Query, Tool
from lib.machinery.catalogue import KEY
from lib.machinery.inputs import MAX_KEY_CHARS

type Schema = dict[str, Any]

KEY_RULE = (
    "Choose one key per action the user asked for. Reuse exactly the same key and arguments on "
    "every retry, also after a time-out. Use a new key only for a new action."
)

KEY_SCHEMA: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_KEY_CHARS,
    "description": "One per action the user asked for; the same again on every retry of it.",
}


ENVELOPE_SCHEMA: Schema = {
    "outcome": {
        "enum": [
            "succeeded",
            "rejected",
            "not_executed",
            "in_progress",
            "in_doubt",
            "key_reused",
            "invalid",
            "forbidden",
            "store_unavailable",
        ]
    },
    "side_effect": {
        "enum": ["none", "occurred", "unknown"],
        "description": "Whether this operation took effect, by any attempt, ever.",
    },
    "this_call": {"enum": ["executed", "replayed", "recovered", "not_executed"]},
    "retry": {
        "type": "object",
        "properties": {
            "advice": {"enum": ["never", "same_key", "new_key"]},
            "after_ms": {"type": ["integer", "null"]},
        },
        "required": ["advice", "after_ms"],
    },
    "operation_id": {"type": ["string", "null"]},
    "recorded": {"type": "boolean"},
    "error": {
        "type": ["object", "null"],
        "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        "required": ["code", "message"],
    },
}


class _Untitled(GenerateJsonSchema):
    """Field names say what pydantic's generated titles repeat, at a price per listing."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002  its signature
        return False


@cache
def described(tool: Tool) -> Schema:
    """Describe a tool in wire form; built once per tool."""
    is_command = isinstance(tool, Command)
    return {
        "name": tool.name,
        "description": f"{tool.description} {KEY_RULE}" if is_command else tool.description,
        "inputSchema": input_schema(tool),
        "outputSchema": _envelope_schema(tool) if is_command else _plain(tool, "serialization"),
        "annotations": annotations(tool),
    }


def annotations(tool: Tool) -> Schema:
    """State the hints that a tool's kind fixes; `idempotentHint` holds because of the key."""
    return {
        "readOnlyHint": isinstance(tool, Query),
        "destructiveHint": isinstance(tool, Command) and tool.destructive,
        "idempotentHint": True,
        "openWorldHint": tool.open_world,
    }


@cache
def input_schema(tool: Tool) -> Schema:
    """Build the schema of a tool's arguments; a command's is closed, and has its key."""
    schema = _plain(tool, "validation")
    if isinstance(tool, Query):
        return schema
    _close(schema)
    schema["properties"] = {**schema.get("properties", {}), KEY: KEY_SCHEMA}
    schema["required"] = [*schema.get("required", []), KEY]
    return schema


@cache
def mirrored_schema(tool: Tool) -> Schema | None:
    """Give the schema of arguments that headers repeat (`x-mcp-header`); None where none does.

    The SDK walks what it is given at each call, to find them.
    """
    schema = input_schema(tool)
    return schema if '"x-mcp-header"' in json.dumps(schema) else None


def _plain(tool: Tool, mode: Any) -> Schema:  # noqa: ANN401  pydantic's literal
    model = tool.arguments if mode == "validation" else tool.result
    schema = model.model_json_schema(mode=mode, schema_generator=_Untitled)
    schema.pop("title", None)
    schema.pop("description", None)
    return {"type": "object", "properties": {}, **schema}


def _close(schema: Any) -> None:  # noqa: ANN401  any JSON value
    # The casts name what JSON can hold.
    if isinstance(schema, dict):
        members = cast("dict[str, Any]", schema)
        # An object's own schema; not a condition about one, nor a field that is called so.
        if members.get("type") == "object" and "properties" in members:
            members["additionalProperties"] = False
        schema = list(members.values())
    for inner in cast("list[Any]", schema) if isinstance(schema, list) else ():
        _close(inner)


def _envelope_schema(tool: Tool) -> Schema:
    result = _plain(tool, "serialization")
    definitions = result.pop("$defs", None)
    properties = {**ENVELOPE_SCHEMA, "result": {"anyOf": [result, {"type": "null"}]}}
    schema: Schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return schema if definitions is None else {**schema, "$defs": definitions}
