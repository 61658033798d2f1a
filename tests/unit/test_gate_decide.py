"""The gate's one decision over the full product of its inputs, against a second expectation."""

from itertools import product

import pytest

from lib.contract import Principal, Scope, Tool
from lib.machinery.builtins import builtin_queries
from lib.machinery.gate.decide import Allowed, Denied, Grant, Reach, decide
from tests.harness.gate import NEEDS, PLACES, every_grant, expected, product_tools

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (*product_tools(), *builtin_queries())}
SOMEONE = Principal(issuer="https://issuer.example", subject="ada")


def grant(scopes: frozenset[str]) -> Grant:
    return Grant(principal=SOMEONE, scopes=frozenset(Scope(scope) for scope in scopes))


def test_every_decision_of_the_product_is_the_expected_one() -> None:
    assert TOOLS.keys() == NEEDS.keys()
    walked = 0
    names = (*NEEDS, "not_a_tool")
    for scopes, place, endpoint, name in product(
        every_grant(), PLACES, ("/mcp", "/mcp/readonly"), names
    ):
        reach = Reach(has_commands=place.has_commands)
        verdict = decide(grant(scopes), reach, endpoint, TOOLS.get(name))
        reason = verdict.reason if isinstance(verdict, Denied) else None
        assert reason == expected(place, scopes, endpoint, name), (scopes, place, endpoint, name)
        walked += 1
    assert walked == 10 * 8 * 2 * 12


def test_a_refusal_for_scopes_names_all_the_operation_needs_also_those_held() -> None:
    for scopes, (name, needs) in product(every_grant(), NEEDS.items()):
        verdict = decide(grant(scopes), Reach(has_commands=True), "/mcp", TOOLS[name])
        assert verdict == Allowed() or verdict == Denied(
            reason="scope", scopes=tuple(Scope(scope) for scope in needs)
        )


@pytest.mark.parametrize("endpoint", ["", "/", "/mcp/", "/MCP", "/mcp/readonly/", "/mcp/other"])
def test_an_unknown_endpoint_reaches_nothing(endpoint: str) -> None:
    everything = grant(frozenset({"call:tools", "call:write_tools", "items:audit"}))
    for tool in TOOLS.values():
        verdict = decide(everything, Reach(has_commands=True), endpoint, tool)
        assert isinstance(verdict, Denied)


def test_a_grant_with_one_scope_more_never_reaches_less() -> None:
    for scopes, extra, tool in product(
        every_grant(), ("call:tools", "call:write_tools", "items:audit"), TOOLS.values()
    ):
        reach = Reach(has_commands=True)
        if decide(grant(scopes), reach, "/mcp", tool) == Allowed():
            assert decide(grant(scopes | {extra}), reach, "/mcp", tool) == Allowed()


def test_the_readonly_endpoint_only_narrows() -> None:
    for scopes, place, tool in product(every_grant(), PLACES, TOOLS.values()):
        reach = Reach(has_commands=place.has_commands)
        if decide(grant(scopes), reach, "/mcp/readonly", tool) == Allowed():
            assert decide(grant(scopes), reach, "/mcp", tool) == Allowed()


@pytest.mark.parametrize("lookalike", ["Call:tools", "call:tools ", "call:*", "*", "call"])
def test_a_scope_counts_only_to_the_letter(lookalike: str) -> None:
    for tool in TOOLS.values():
        verdict = decide(grant(frozenset({lookalike})), Reach(has_commands=True), "/mcp", tool)
        assert isinstance(verdict, Denied)


def test_what_is_no_declared_tool_is_refused() -> None:
    everything = grant(frozenset({"call:tools", "call:write_tools"}))
    stranger: Tool = object()  # pyright: ignore[reportAssignmentType]  what a bug might pass
    for tool in (None, stranger):
        verdict = decide(everything, Reach(has_commands=True), "/mcp", tool)
        assert verdict == Denied(reason="unknown_tool")
