"""Write the whole resolved set into pyproject.toml, by name and version, with no host in it.

Run `uv run python -m tests.pins` after a change of a direct dependency.
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
BLOCK = re.compile(r"constraint-dependencies = \[\n.*?\]\n", re.DOTALL)


def resolved(project: str) -> list[str]:
    """Resolve a project and list every package with its version, also other systems'."""
    options = "--no-hashes --no-emit-project --all-groups --all-extras --no-annotate --no-header"
    with TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_text(project)
        exported = subprocess.run(  # noqa: S603
            ["uv", "export", "--quiet", *options.split()],  # noqa: S607
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    return sorted(line.split(";")[0].strip() for line in exported.splitlines() if line.strip())


def pinned(project: str, pins: list[str]) -> str:
    """Put pins into a project's text."""
    lines = "".join(f'  "{pin}",\n' for pin in pins)
    return BLOCK.sub(lambda _: f"constraint-dependencies = [\n{lines}]\n", project)


def main() -> int:
    """Resolve anew and rewrite the pins; with `--check`, only tell whether they are complete."""
    text = PROJECT.read_text()
    if "--check" in sys.argv:
        is_complete = pinned(text, resolved(text)) == text
        print("pins agree" if is_complete else "run: uv run python -m tests.pins")  # noqa: T201
        return 0 if is_complete else 1
    # Without the old pins, which would hold the new ones back.
    PROJECT.write_text(pinned(text, resolved(pinned(text, []))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
