"""A newcomer's steps, read from the documents that describe them, taken in a copy of the tree."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEP_S = 120


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


def check(tree: Path, *, rooms: Sequence[str], tests: Sequence[str]) -> None:
    """Hold a copy to what `.ci/run` holds it to, in the rooms that a newcomer touched."""
    python = sys.executable
    run(tree, python, "-m", "tests.lock")
    run(tree, python, "-m", "ruff", "format", "--check", *rooms)
    run(tree, python, "-m", "ruff", "check", *rooms)
    run(tree, python, "-m", "pyright", *rooms)
    run(tree, str(Path(python).with_name("lint-imports")))
    run(tree, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)


def run(tree: Path, *command: str, given: str | None = None) -> None:
    """Run a command in the copy; it must succeed."""
    ended = subprocess.run(  # noqa: S603  our own tools, and the document's own lines
        command,
        cwd=tree,
        capture_output=True,
        check=False,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)},  # noqa: TID251  PATH and its like
        input=given,
        text=True,
        timeout=STEP_S,
    )
    assert ended.returncode == 0, f"{' '.join(command)}\n{ended.stdout}{ended.stderr}"
