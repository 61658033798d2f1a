"""Every tool of a server, checked when it is declared and sorted as it is listed.

A declaration that contradicts itself fails at import, with one sentence that says what to change.
Source: DESIGN §5; MCP 2026-07-28 server/tools; SEP-986 (names).
"""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, get_args

from pydantic import BaseModel, RootModel

from lib.contract import BackendClass, Command, Keyed, Lookup, Page, PageArguments, Query, Tool
from lib.machinery.runner.deadline import OPEN_TTL_MS

KEY = "idempotency_key"
NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
QUERY_VERBS = frozenset(re.findall(r"\w+", "count describe find get list read search"))
COMMAND_VERBS = frozenset(
    re.findall(
        r"\w+",
        "accept activate add apply approve archive assign attach book cancel capture charge close "
        "copy create deactivate delete detach disable enable grant import invite issue lock mark "
        "merge move open order pay place post publish put refund register reject release remove "
        "rename replace reserve reset restore resume revoke run schedule send set start stop "
        "submit suspend transfer trigger unlock unpublish update upload upsert void write",
    )
)


class DeclarationError(ValueError):
    """A tool's declaration contradicts itself, or another one."""


@dataclass(frozen=True)
class Catalogue:
    """The tools in listing order: queries, then commands, each by name."""

    tools: tuple[Tool, ...]

    def find(self, name: str) -> Tool | None:
        """Find a tool by its exact name."""
        return self._by_name.get(name)

    def find_command(self, name: str) -> Command[Any, Any] | None:
        """Find a command by its exact name."""
        tool = self.find(name)
        return tool if isinstance(tool, Command) else None

    @property
    def needs_approval(self) -> bool:
        """Some command is approved by a person first."""
        return any(isinstance(tool, Command) and tool.approval for tool in self.tools)

    @cached_property
    def _by_name(self) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in self.tools}


def catalogue_of(tools: Sequence[Tool], builtin: Sequence[Query[Any, Any]] = ()) -> Catalogue:
    """Check every declaration and put the tools in listing order.

    builtin: the machinery's own queries, whose names are taken and whose form is not checked.
    Raises: DeclarationError: naming the tool, what is wrong, and what to change.
    """
    seen = {query.name for query in builtin}
    for tool in tools:
        _check(tool, seen)
        seen.add(tool.name)
    every = (*builtin, *tools)
    return Catalogue(tuple(sorted(every, key=lambda t: (isinstance(t, Command), t.name))))


def _check(tool: Tool, seen: set[str]) -> None:
    if not isinstance(tool, Query | Command):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DeclarationError(f"{tool!r} is neither a Query nor a Command: declare one of them.")
    problem = next((found for found in _problems(tool, seen) if found is not None), None)
    if problem is not None:
        raise DeclarationError(f"{tool.name}: {problem}")


def _problems(tool: Tool, seen: set[str]) -> Iterator[str | None]:
    yield _wrong_name(tool, seen)
    yield _wrong_words(tool)
    yield _wrong_model("arguments", tool.arguments)
    yield _wrong_model("result", tool.result)
    yield _wrong_arguments(tool)
    yield _wrong_function(tool)
    yield _wrong_command(tool) if isinstance(tool, Command) else _wrong_query(tool)


def _wrong_name(tool: Tool, seen: set[str]) -> str | None:
    if not NAME.fullmatch(tool.name):
        return "use 1 to 128 of the characters A-Z a-z 0-9 _ . - in the name (SEP-986)."
    if tool.name in seen:
        return "the name is taken by another tool; choose another one."
    verb, _, noun = tool.name.partition("_")
    right, wrong = (QUERY_VERBS, COMMAND_VERBS)
    if isinstance(tool, Command):
        right, wrong = wrong, right
    if not noun:
        return "name it verb_noun, for example get_order or create_order."
    if verb in wrong:
        kind, other = ("Command", "Query") if isinstance(tool, Command) else ("Query", "Command")
        return f"the verb {verb}_ belongs to a {other}; declare it as one, or rename this {kind}."
    if verb not in right:
        return f"begin the name with one of the verbs {', '.join(sorted(right))}."
    return None


def _wrong_words(tool: Tool) -> str | None:
    if not tool.description.strip():
        return "write a description: it is all a model knows of the tool."
    if not NAME.fullmatch(tool.toolset):
        return "name its toolset with the characters A-Z a-z 0-9 _ . -."
    return None


def _wrong_model(role: str, model: type[BaseModel]) -> str | None:
    # A declaration is not type-checked before it is imported.
    if not (inspect.isclass(model) and issubclass(model, BaseModel)):  # pyright: ignore[reportUnnecessaryIsInstance]
        return f"declare its {role} as a pydantic model class."
    if issubclass(model, RootModel):
        return f"declare its {role} as a model with named fields, not a RootModel."
    if model.model_config.get("extra") == "allow":
        return f'remove extra="allow" from its {role}: only declared fields come in or leave.'
    return None


def _wrong_arguments(tool: Tool) -> str | None:
    for name, field in tool.arguments.model_fields.items():
        if KEY in {name, field.alias, field.validation_alias}:
            return f"remove the argument {KEY}: the machinery adds it to every command."
        if field.exclude:
            return f"the argument {name} is excluded from dumps, so the fingerprint would miss it."
        if field.default_factory not in {None, list, dict, set, tuple, frozenset}:
            return f"give {name} a constant default: a computed one differs between call and retry."
    return None


def _wrong_function(tool: Tool) -> str | None:
    function = tool.perform
    if not callable(function):
        return "make perform an async function of (arguments, call)."
    # What a lambda gives back shows when it is called; a plain function says what it is.
    is_plain = inspect.isfunction(function) and function.__name__ != "<lambda>"
    if is_plain and not inspect.iscoroutinefunction(function):
        return "make perform an async function: it is awaited."
    return None


def _wrong_query(tool: Query[Any, Any]) -> str | None:
    is_page, takes_page = issubclass(tool.result, Page), issubclass(tool.arguments, PageArguments)
    if is_page != takes_page:
        return "a query that answers a Page takes PageArguments, and no other query does."
    return None


def _wrong_command(tool: Command[Any, Any]) -> str | None:
    if not isinstance(tool.backend, get_args(BackendClass)):
        return "declare its backend class: Keyed, Unique, Lookup or Unaskable (PROTOCOL §5)."
    if not tool.target.strip():
        return "name its target: the system that changes, for the person who approves."
    if issubclass(tool.result, Page):
        return "a command answers one result, not a Page."
    return next(_wrong_backend(tool), None)


def _wrong_backend(tool: Command[Any, Any]) -> Iterator[str]:
    match tool.backend:
        case Keyed(window=window, lookup=settle_time):
            durations, can_be_asked = (window, settle_time), settle_time is not None
        case Lookup(settle_time=settle_time):
            durations, can_be_asked = (settle_time,), True
        case _:
            durations, can_be_asked, settle_time = (), False, None
    if can_be_asked and tool.ask is None:
        yield "its backend class can be asked: say how, with ask."
    if not can_be_asked and tool.ask is not None:
        yield "its backend class is never asked: drop ask, or declare Lookup or Keyed(lookup=…)."
    if any(value is not None and value <= timedelta(0) for value in durations):
        yield "give its backend class durations above zero."
    if settle_time is not None and settle_time >= timedelta(milliseconds=OPEN_TTL_MS):
        yield "give its backend class a time to settle below the 90 days of an open record."
