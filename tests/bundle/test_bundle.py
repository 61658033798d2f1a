"""What `vercel build` makes of the tree: one function, exactly the files meant, no secret."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bundle.conftest import STRAY
from tests.harness.servers import ROOT

pytestmark = pytest.mark.node
MAX_MB = 50
NEVER = {"lib/dev", "lib/ops", "lib/aws_lambda.py", "tests", "docs"}


def function(bundle: Path) -> Path:
    return bundle / "functions" / "fastapi.func"


def ours(bundle: Path) -> set[str]:
    root = function(bundle)
    files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {path.as_posix() for path in files if path.parts[0] != "_vendor"}


def test_there_is_one_function_and_nothing_static(bundle: Path) -> None:
    functions = [path.name for path in (bundle / "functions").iterdir()]
    static = [path.name for path in (bundle / "static").rglob("*") if path.is_file()]
    assert (functions, static) == (["fastapi.func"], [])


def test_the_function_is_configured_as_vercel_json_says(bundle: Path) -> None:
    config = json.loads((function(bundle) / ".vc-config.json").read_text())
    told = json.loads((ROOT / "vercel.json").read_text())["functions"]["api/index.py"]
    assert (config["runtime"], config["maxDuration"]) == ("python3.13", told["maxDuration"])
    assert set(config["environment"]) == {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}


def test_the_bundle_holds_what_runs_and_nothing_else(bundle: Path) -> None:
    deployed = {
        path.relative_to(ROOT).as_posix()
        for room in ("api", "lib")
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    meant = {
        name
        for name in deployed
        if not any(name == no or name.startswith(f"{no}/") for no in NEVER)
    }
    built = {".vc-config.json", "vc__handler__python.py", "pyproject.toml"}
    assert ours(bundle) == meant | built


def test_no_stray_secret_gets_into_the_output(bundle: Path) -> None:
    holding = [
        path
        for path in bundle.rglob("*")
        if path.is_file() and "_vendor" not in path.parts and STRAY.encode() in path.read_bytes()
    ]
    assert holding == []


def test_every_path_reaches_the_application_and_the_sweeper_is_scheduled(bundle: Path) -> None:
    config = json.loads((bundle / "config.json").read_text())
    assert config["crons"] == [{"path": "/api/cron/reconcile", "schedule": "0 4 * * *"}]
    rewrites = [
        route for route in config["routes"] if route.get("src") == "/(.*)" and "dest" in route
    ]
    assert [route["dest"] for route in rewrites] == ["/fastapi"]


def test_the_bundle_is_small(bundle: Path, record_property: Callable[[str, object], None]) -> None:
    files = [path for path in function(bundle).rglob("*") if path.is_file()]
    megabytes = sum(path.stat().st_size for path in files) / 1_000_000
    record_property("bundle_mb", round(megabytes, 1))
    print(f"bundle: {megabytes:.1f} MB in {len(files)} files")  # noqa: T201
    assert megabytes <= MAX_MB
