"""A newcomer's steps, read from the documents that describe them, taken in a copy of the tree."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.harness.servers import ROOT

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEP_S, SUITE_S = 120, 600
ROOMS = ("api", "lib", "tests")
YOURS = ("lib/tools", "lib/backend", "tests/tools")
HOUSE = ("tests/unit/test_house.py", "tests/tools", "tests/protocol/test_listing.py")
# Without workers, and without what a short run imports and never uses.
LIGHTLY = ("-q", "-n0", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a document, with its blocks of code."""

    text: str

    def blocks(self, language: str) -> list[str]:
        """Give its blocks in one language, in order."""
        return [found[2] for found in BLOCK.finditer(self.text) if found[1] == language]


def section(document: Path, heading: str) -> Section:
    """Find the section under a heading, up to the next heading of its kind."""
    level = heading.split(maxsplit=1)[0]
    _, found, after = document.read_text().partition(f"\n{heading}\n")
    assert found, f"{document.name} has no {heading}"
    return Section(re.split(rf"^#{{2,{len(level)}}} ", after, flags=re.MULTILINE)[0])


def add_after(tree: Path, name: str, lines: dict[str, str]) -> None:
    """Add a line after another one, as an editor does."""
    text = (tree / name).read_text()
    for known, new in lines.items():
        assert text.count(known) == 1, known
        text = text.replace(known, known + new)
    (tree / name).write_text(text)


def apply(tree: Path, diff: str) -> None:
    """Apply a diff of a document; context that is not there any more fails."""
    run(tree, "git", "apply", "--unidiff-zero", "-", given=diff)


def check(tree: Path, *reached: str) -> None:
    """Hold a copy to what `.ci/run` holds it to; types and tests where they can have changed.

    reached: files that import what is not in your rooms, or is not there any more.
    """
    python = sys.executable
    tests = [name for name in reached if Path(name).name.startswith("test_")]
    house = [name for name in HOUSE if (tree / name).exists()]
    yours = [name for name in YOURS if (tree / name).exists()]
    run(tree, python, "-m", "tests.lock")
    run(tree, python, "-m", "ruff", "format", "--check", ".")
    run(tree, python, "-m", "ruff", "check", ".")
    run(tree, python, "-m", "pyright", *yours, *reached)
    run(tree, str(Path(python).with_name("lint-imports")))
    run(tree, python, "-m", "pytest", *LIGHTLY, *house, *tests)


def reached_by_a_removal(tree: Path) -> list[str]:
    """Name the files of a copy that import your rooms, or anything that the copy lacks."""
    kept = modules(tree)
    gone = modules(ROOT).keys() - kept.keys()
    names = "|".join(map(re.escape, {*gone, "lib.tools", "lib.backend"}))
    imports = re.compile(rf"^ *(?:from|import) (?:{names})\b", re.MULTILINE)
    return sorted(str(file) for file in kept.values() if imports.search((tree / file).read_text()))


def modules(tree: Path) -> dict[str, Path]:
    """Name every module of a tree, and where it stands in it."""
    files = [file for room in ROOMS for file in (tree / room).rglob("*.py")]
    inside = [file.relative_to(tree) for file in files if "node_modules" not in file.parts]
    return {".".join(file.with_suffix("").parts).removesuffix(".__init__"): file for file in inside}


def run_suite(tree: Path) -> None:
    """Run the suite of a copy, without the steps it has taken; tests ask git for its files."""
    run(tree, "git", "init", "--quiet")
    run(tree, "git", "add", "--all")
    taken = "--ignore=tests/end_to_end/test_starter.py"
    run(tree, sys.executable, "-m", "pytest", "-q", taken, within_s=SUITE_S)


def run(tree: Path, *command: str, given: str | None = None, within_s: float = STEP_S) -> None:
    """Run a command in the copy; it must succeed."""
    ended = subprocess.run(  # noqa: S603  our own tools, and the document's own lines
        command,
        cwd=tree,
        capture_output=True,
        check=False,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)},  # noqa: TID251  PATH and its like
        input=given,
        text=True,
        timeout=within_s,
    )
    assert ended.returncode == 0, f"{' '.join(command)}\n{ended.stdout}{ended.stderr}"
