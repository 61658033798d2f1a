"""A copy of the tree: what is under version control or would be, and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.harness.servers import ROOT


def copy_tree(to: Path) -> Path:
    """Copy the tree into a new folder."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603  git of this machine
    for name in names.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)
    return to


def copy_tree_with_environment(to: Path) -> Path:
    """Copy the tree, and let it use the environment that is synced here."""
    (copy_tree(to) / ".venv").symlink_to(sys.prefix)
    return to
