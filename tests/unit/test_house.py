"""The house rules: sizes, nouns, pins, names, and what must equal what."""

import ast
import json
import re
import statistics
import tomllib
from importlib.metadata import distributions
from itertools import chain
from pathlib import Path

import pytest

from lib.settings import Settings

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CODE = sorted(path for room in ("api", "lib") for path in (ROOT / room).rglob("*.py"))
TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if "node_modules" not in path.parts)
MAX_FILE_LINES = 250
MAX_FUNCTION_LINES = 40
MAX_LINES = {"api/index.py": 40, "lib/contract.py": 180, "README.md": 160}
# A line that names one of these stands in machinery (or the developer's rooms), never in yours.
MACHINERY_NOUNS = r"lease|redis|upstash|json-?rpc|\bmcp\b|idempotency_key|\bswap\b"
DOMAIN_NOUNS = r"\bitems? service\b|\bnotice|\bquantity\b|item_id|create_item"
# A third of it is docstrings and blank lines; docs/DESIGN.md §1 says what the rest is.
MAX_MACHINERY = 5_600
REGISTRIES = re.compile(r"pypi\.org|pythonhosted|npmjs|registry\.")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    docstring = ast.get_docstring(function, clean=False)
    total = (function.end_lineno or 0) - function.lineno + 1
    return total - (0 if docstring is None else len(docstring.splitlines()))


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text())
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", CODE + TESTS, ids=relative)
def test_a_file_is_short_enough_to_read_at_once(path: Path) -> None:
    limit = MAX_LINES.get(relative(path), MAX_FILE_LINES)
    assert len(path.read_text().splitlines()) <= limit


@pytest.mark.parametrize("name", MAX_LINES)
def test_the_pages_everybody_reads_are_short(name: str) -> None:
    assert len((ROOT / name).read_text().splitlines()) <= MAX_LINES[name]


def test_the_machinery_stays_within_its_ceiling() -> None:
    room = ROOT / "lib" / "machinery"
    assert sum(len(path.read_text().splitlines()) for path in room.rglob("*.py")) <= MAX_MACHINERY


def test_every_section_that_the_code_cites_is_there() -> None:
    cited = {
        found
        for path in (*CODE, *TESTS)
        for found in re.findall(r"(PROTOCOL|DESIGN) §(\d+)(?:\.(\d+))?", path.read_text())
    }
    assert len(cited) > 10
    assert cited - sections("PROTOCOL") - sections("DESIGN") == set()


def sections(page: str) -> set[tuple[str, str, str]]:
    """Number a page's sections, and the points of each."""
    found: set[tuple[str, str, str]] = set()
    for part in re.split(r"^## ", (ROOT / "docs" / f"{page}.md").read_text(), flags=re.MULTILINE):
        number = part.partition(".")[0]
        points = re.findall(r"^(\d+)\. ", part.partition("\n")[2], re.MULTILINE)
        found |= {(page, number, point) for point in ("", *points)}
    return found


def test_functions_are_short() -> None:
    lines = sorted(body_lines(each) for path in CODE for each in functions(path))
    longest = {
        f"{relative(path)}:{each.name}": body_lines(each)
        for path in CODE
        for each in functions(path)
        if body_lines(each) > MAX_FUNCTION_LINES
    }
    assert not longest
    assert statistics.median(lines) <= 10
    assert lines[int(0.9 * len(lines))] <= 25


@pytest.mark.parametrize("path", CODE, ids=relative)
def test_a_file_opens_with_what_it_promises(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


@pytest.mark.parametrize("room", ["lib/tools", "lib/backend"])
def test_your_rooms_name_nothing_of_the_machinery(room: str) -> None:
    assert offenders(ROOT / room, MACHINERY_NOUNS) == []


def test_the_machinery_names_nothing_of_the_domain() -> None:
    assert offenders(ROOT / "lib/machinery", DOMAIN_NOUNS) == []


def offenders(room: Path, nouns: str) -> list[str]:
    found = re.compile(nouns, re.IGNORECASE)
    return [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in sorted(room.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if found.search(line) and number not in prose(path)
    ]


def prose(path: Path) -> set[int]:
    tree, lines = ast.parse(path.read_text()), path.read_text().splitlines()
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    docstrings = {n for each in strings for n in range(each.lineno, (each.end_lineno or 0) + 1)}
    return docstrings | {n for n, line in enumerate(lines, 1) if line.lstrip().startswith("#")}


def test_the_example_environment_names_exactly_the_settings() -> None:
    named = re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
    fields = {name.upper() for name in Settings.model_fields if not name.startswith("vercel")}
    assert sorted(named) == sorted(fields)


def test_the_example_environment_repeats_the_defaults() -> None:
    pairs = re.findall(r"^([A-Z_]+)=(.+)$", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert {name: float(value) for name, value in pairs} == {
        name: Settings.model_fields[name.lower()].default for name, _ in pairs
    }


def test_the_longest_duration_is_what_vercel_is_told() -> None:
    vercel = json.loads((ROOT / "vercel.json").read_text())
    told = vercel["functions"]["api/index.py"]["maxDuration"]
    assert Settings.model_fields["max_duration_s"].default == told


def test_vercel_is_told_no_rewrite_and_a_short_enough_pattern() -> None:
    vercel = json.loads((ROOT / "vercel.json").read_text())
    assert "rewrites" not in vercel
    assert vercel["framework"] == "fastapi"
    assert len(vercel["functions"]["api/index.py"]["excludeFiles"]) <= 256


def test_every_installed_package_is_pinned_to_what_is_installed() -> None:
    pins = dict(pin.split("==") for pin in PROJECT["tool"]["uv"]["constraint-dependencies"])
    installed = {canonical(each.name): each.version for each in distributions()}
    installed.pop("pip", None)
    assert {name: pins.get(name) for name in installed} == installed


def test_direct_dependencies_agree_with_the_pins() -> None:
    pins = set(PROJECT["tool"]["uv"]["constraint-dependencies"])
    groups = PROJECT["dependency-groups"].values()
    extras = PROJECT["project"]["optional-dependencies"].values()
    lists = (PROJECT["project"]["dependencies"], *groups, *extras)
    named = {re.sub(r"\[.*?\]|;.*", "", str(each)).strip() for each in chain(*lists)}
    assert named <= pins


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_project_has_no_build_system_and_vercel_knows_its_entry_point() -> None:
    assert "build-system" not in PROJECT
    assert PROJECT["tool"]["vercel"]["entrypoint"] == "api.index:app"
    assert (ROOT / ".python-version").read_text().strip() == "3.13"


def test_git_keeps_the_library() -> None:
    rules = (ROOT / ".gitignore").read_text().splitlines()
    assert not [rule for rule in rules if rule.strip("/ ") in {"lib", "lib64", "*"}]


def test_no_download_host_is_named_anywhere() -> None:
    named = [relative(path) for path in shipped() if REGISTRIES.search(path.read_text())]
    assert named == [relative(Path(__file__))]


def shipped() -> list[Path]:
    skipped = {"node_modules", "__pycache__", "uv.lock"}
    tops = [
        top for top in ROOT.iterdir() if top.name in {".ci", ".env.example"} or top.name[0] != "."
    ]
    files = [path for top in tops for path in ([top] if top.is_file() else top.rglob("*.*"))]
    return [p for p in files if p.is_file() and not skipped.intersection(p.relative_to(ROOT).parts)]
