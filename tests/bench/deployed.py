"""What a function is deployed with: the packages that a requirement leads to, and their sizes.

A cold start is measured on these alone: what else is installed beside the tests would be looked
through, and some of it imported, by packages that use what they find.
"""

import re
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.harness.servers import ROOT

PROJECT = re.compile(r"^dependencies = \[(.*?)^\]", re.MULTILINE | re.DOTALL)


def own_requirements() -> list[str]:
    """Read the direct dependencies from `pyproject.toml`."""
    found = PROJECT.search((ROOT / "pyproject.toml").read_text())
    return re.findall(r'^\s*"([^"]+)"', found.group(1), re.MULTILINE) if found else []


def closure(requirements: list[str]) -> dict[str, Distribution]:
    """Follow requirements through what is installed here, extras and markers included."""
    found: dict[str, Distribution] = {}
    visited: set[str] = set()
    left = [Requirement(each) for each in requirements]
    while left:
        wanted = left.pop()
        if str(wanted) in visited:
            continue
        visited.add(str(wanted))
        package = distribution(wanted.name)
        found[_plain(wanted.name)] = package
        left += [each for each in _required(package) if _applies(each, wanted.extras)]
    return dict(sorted(found.items()))


def linked(folder: Path, requirements: list[str]) -> Path:
    """Fill a folder with links to the packages, as a bundle holds them."""
    folder.mkdir(parents=True)
    for package in closure(requirements).values():
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            link = folder / top
            if not link.exists():
                link.symlink_to(Path(str(package.locate_file(top))))
    return folder


def sizes() -> dict[str, int]:
    """Tell the bytes of each package and of this project in a bundle, without bytecode."""
    packages = closure(own_requirements())
    found = {name: _bytes_of(package) for name, package in packages.items()}
    own = [path for room in ("api", "lib") for path in (ROOT / room).rglob("*") if path.is_file()]
    found["settle"] = sum(path.stat().st_size for path in own if path.suffix != ".pyc")
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def _required(package: Distribution) -> list[Requirement]:
    return [Requirement(each) for each in package.requires or ()]


def _applies(wanted: Requirement, extras: set[str]) -> bool:
    if wanted.marker is None:
        return True
    return any(wanted.marker.evaluate({"extra": extra}) for extra in {"", *extras})


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _bytes_of(package: Distribution) -> int:
    files = [Path(str(file.locate())) for file in package.files or () if file.parts[0] != ".."]
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc" and file.exists())
