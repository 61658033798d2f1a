"""`uv run -m lib.dev` as a newcomer meets it: real processes, a real client, real signals."""

import json
import os
import signal
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lib.dev.data_lock import is_alive
from tests.harness.dev_server import DevServer, clone, cold_dev_server, dev_server, refused

COMMANDS = {"create_item", "delete_item", "send_notice", "update_item"}
LAMP = {"name": "lamp", "quantity": 1, "idempotency_key": "k"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    folder = clone(tmp_path_factory.mktemp("dev"))
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with cold_dev_server(folder, "--port", "0", cwd=elsewhere) as server:
        yield server
    assert not list(elsewhere.iterdir())


async def test_a_client_lists_asks_creates_and_gets_a_replay(running: DevServer) -> None:
    async with running.client() as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        first = (await client.call_tool("create_item", LAMP)).structured_content
        again = (await client.call_tool("create_item", LAMP)).structured_content
        found = (await client.call_tool("search_items", {"text": "lamp"})).structured_content
    assert listed >= COMMANDS
    assert first is not None
    assert (first["outcome"], first["this_call"]) == ("succeeded", "executed")
    assert again == {**first, "this_call": "replayed"}
    assert found == {"items": [first["result"]], "next_cursor": None}


async def test_the_read_key_reaches_queries_alone(running: DevServer) -> None:
    async with running.client("Read") as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
    assert "list_items" in listed
    assert not listed & COMMANDS


def test_the_block_has_a_line_to_copy_and_no_colour_where_there_is_no_terminal(
    running: DevServer,
) -> None:
    header = f"Authorization: Bearer {running.key('Write')}"
    line = f'claude mcp add --transport http settle {running.url} --header "{header}"'
    assert line in running.output.splitlines()
    assert "\x1b" not in running.output


async def test_decisions_are_told_as_whole_lines(running: DevServer) -> None:
    before = len(running.output)
    async with running.client() as client:
        await client.call_tool("list_items", {})
    running.wait_for('"tool":"list_items"', after=before)
    lines = [line for line in running.output[before:].splitlines() if "list_items" in line]
    assert json.loads(lines[0])["actor"] == "dev-writer"


def test_a_second_instance_is_told_who_has_the_data(running: DevServer) -> None:
    folder = running.log.parent
    said = refused(folder, "--port", "0")
    assert (
        f"{folder / '.local'} is in use by another instance (process {running.process.pid})" in said
    )


def test_a_taken_port_is_told_with_its_holder_and_a_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(clone(tmp_path), "--port", str(port))
    assert f"Port {port} cannot be used" in said
    assert f"(process {os.getpid()})" in said or "another program" in said
    assert "--port 0" in said


async def test_ctrl_c_is_quick_and_a_restart_keeps_keys_and_data(tmp_path: Path) -> None:
    folder = clone(tmp_path)
    with dev_server(folder, "--port", "0") as server:
        keys = (server.key("Read"), server.key("Write"))
        async with server.client() as client:
            first = (await client.call_tool("create_item", LAMP)).structured_content
        worker, status = server.worker, server.end(signal.SIGINT)
        assert (status, is_alive(worker), "Traceback" in server.output) == (0, False, False)
    with dev_server(folder, "--port", "0") as server:
        async with server.client() as client:
            again = (await client.call_tool("create_item", LAMP)).structured_content
        assert (server.key("Read"), server.key("Write")) == keys
        assert server.end(signal.SIGTERM) == 0
    assert first is not None
    assert again == {**first, "this_call": "replayed"}
    assert stat.S_IMODE((folder / ".local" / "secrets.json").stat().st_mode) == 0o600


async def test_a_change_reloads_and_a_broken_one_is_told_and_costs_no_data(tmp_path: Path) -> None:
    folder = clone(tmp_path)
    notices = folder / "lib" / "tools" / "notices.py"
    good = notices.read_text()
    with dev_server(folder, "--port", "0") as server:
        async with server.client() as client:
            first = (await client.call_tool("create_item", LAMP)).structured_content
        notices.write_text(good.replace("Send a message", "Send a word"))
        server.wait_for("lib/tools/notices.py changed; reloading.")
        async with server.client() as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert str(tools["send_notice"].description).startswith("Send a word")
        notices.write_text(good.replace('name="send_notice"', 'name="get_notice"'))
        server.wait_for("The server did not start")
        assert "get_notice" in server.output
        notices.write_text(good)
        async with server.client() as client:
            again = (await client.call_tool("create_item", LAMP)).structured_content
    assert first is not None
    assert again == {**first, "this_call": "replayed"}


async def test_a_killed_server_process_comes_back_on_the_same_address(running: DevServer) -> None:
    before, worker = len(running.output), running.worker
    os.kill(worker, signal.SIGKILL)
    running.wait_for("The server was ended by SIGKILL; starting it again.", after=before)
    async with running.client() as client:
        assert (await client.list_tools()).tools
    assert running.worker != worker


def test_a_killed_dev_server_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = clone(tmp_path)
    with dev_server(folder, "--port", "0") as server:
        address = urlsplit(server.url)
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
        wait_until_refused(address.port or 0)
    # The engine keeps its lock while it lives, and the port is taken while anybody has it.
    with dev_server(folder, "--port", str(address.port)) as again:
        assert again.url == server.url


def test_it_keeps_its_data_in_the_project_wherever_it_was_started(running: DevServer) -> None:
    data = running.log.parent / ".local"
    assert (data / "items.db").exists()
    assert (data / "store" / "appendonlydir").is_dir()


def wait_until_refused(port: int) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.02)
    raise TimeoutError("somebody still listens")
