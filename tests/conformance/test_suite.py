"""The official conformance suite against the fixtures: everything passes but what is listed."""

import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conformance import expected
from tests.harness.bundle import NODE_BIN
from tests.harness.servers import running_server
from tests.harness.stack import Stack

pytestmark = pytest.mark.node
SUITES = NODE_BIN.parent / "@modelcontextprotocol"
RUN_S = 120
RESULT = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT.+")


@dataclass(slots=True)
class Ran:
    """What a run found, as `scenario:check`."""

    scenarios: int = 0
    passed: int = 0
    failed: set[str] = field(default_factory=set[str])


def run(package: str, url: str, folder: Path, *options: str) -> Ran:
    entry = SUITES / package / "dist" / "index.js"
    to = ["--url", f"{url}/mcp", "--suite", "all", "-o", str(folder), *options]
    ended = subprocess.run(  # noqa: S603  the pinned suite of tests/node
        [NODE_BIN / "node", entry, "server", *to],
        capture_output=True,
        check=False,
        text=True,
        timeout=RUN_S,
    )
    ran = Ran()
    for result in folder.iterdir():
        named = RESULT.fullmatch(result.name)
        assert named, result
        ran.scenarios += 1
        for check in json.loads((result / "checks.json").read_text()):
            ran.passed += check["status"] == "SUCCESS"
            if check["status"] in {"FAILURE", "WARNING"}:
                ran.failed.add(f"{named[1]}:{check['id']}")
    assert ran.scenarios, ended.stdout + ended.stderr
    return ran


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """One version of the suite at one revision. scenarios: how many it has; none may be lost."""

    package: str
    revision: str
    reasons: dict[str, str]
    scenarios: int


ERAS = [
    Era(package="conformance", revision="2026-07-28", reasons=expected.MODERN, scenarios=40),
    Era(package="conformance", revision="2025-11-25", reasons=expected.LEGACY, scenarios=33),
    Era(package="conformance-stable", revision="2025-11-25", reasons=expected.LEGACY, scenarios=32),
]


@pytest.mark.parametrize("era", ERAS, ids=lambda era: f"{era.package}-{era.revision}")
def test_the_official_suite_passes_but_for_what_is_not_offered(
    stack: Stack, tmp_path: Path, capsys: pytest.CaptureFixture[str], era: Era
) -> None:
    out = tmp_path / "results"
    with running_server(stack.env(), target="tests.conformance.served:app") as server:
        ran = run(era.package, server.url, out, "--spec-version", era.revision)
    counts = f"{ran.passed} checks passed, {len(ran.failed)} not offered"
    with capsys.disabled():
        print(f"\n{era.package} at {era.revision}: {counts}")  # noqa: T201  belongs into every log
    assert ran.failed - era.reasons.keys() == set()
    assert era.reasons.keys() - ran.failed == set(), "stale: these pass, or are gone"
    assert ran.scenarios == era.scenarios
