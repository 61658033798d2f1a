"""Each report from the field names a test that is there."""

import ast
from collections.abc import Iterable

import pytest

from tests.conformance.requirements import REPORTS, Report
from tests.harness.servers import ROOT


def doubles(values: Iterable[str]) -> set[str]:
    listed = list(values)
    return {value for value in listed if listed.count(value) > 1}


def test_no_two_reports_share_an_id() -> None:
    assert doubles(each.id for each in REPORTS) == set()


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.id)
def test_a_report_from_the_field_is_held_by_a_test(report: Report) -> None:
    path, _, name = report.test.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    assert name in {node.name for node in tree.body if isinstance(node, functions)}
    assert report.source
