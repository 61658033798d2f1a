"""What every test may ask for: one engine for the session, and parts of its own for each test."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from lib.dev.engine import Engine, start_engine
from tests.harness.nursery import Nursery, standing
from tests.harness.stack import Stack, running_stack

MIN_WORKERS, MAX_WORKERS = 3, 8
NODE_TOOLS = Path(__file__).parent / "node" / "node_modules"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Keep from a plain `uv run pytest` what needs Node, and what takes its time once more."""
    parser.addoption("--node", action="store_true", help="also run what needs tests/node")
    parser.addoption(
        "--whole", action="store_true", help="also run the suite in a copy of the tree"
    )


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Take one worker for each core, and three at least: many tests wait for a lease to end."""
    if config.getoption("--node") or config.getoption("--whole"):
        return 0  # one process builds one bundle for all that boot it; a suite has its own workers
    return min(max(MIN_WORKERS, os.cpu_count() or 1), MAX_WORKERS)


def pytest_configure(config: pytest.Config) -> None:
    """Have clients load no certificate authorities: all is loopback, and it costs 40 ms each."""
    if not config.getoption("--node"):  # whose tools go further than loopback
        os.environ.pop("SSL_CERT_FILE", None)  # noqa: TID251  of this process and its children
        os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)  # noqa: TID251  the same


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what was not asked for, and say how to run it; asked for, it is never skipped."""
    install = "npm install --no-save --prefix tests/node"
    if config.getoption("--node") and not NODE_TOOLS.is_dir():
        raise pytest.UsageError(f"--node needs the Node tools: {install}")
    reasons = {
        "node": f"needs Node tools: {install}, then pytest --node",
        "whole": "takes as long as the suite: pytest --whole -m whole",
    }
    for mark, reason in reasons.items():
        if not config.getoption(f"--{mark}"):
            for item in items:
                if mark in item.keywords:
                    item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The real engine, with an append-only file that survives a kill."""
    with start_engine(tmp_path_factory.mktemp("engine"), fsync="always") as running:
        yield running


@pytest.fixture
def stack(engine: Engine, tmp_path: Path) -> Iterator[Stack]:
    """An empty store and an empty items service."""
    empty(engine)
    with running_stack(engine, tmp_path) as parts:
        yield parts


@pytest.fixture(scope="session")
def standing_stack(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Parts that stay up, because starting and stopping them is most of a short test's time."""
    with running_stack(engine, tmp_path_factory.mktemp("standing")) as parts:
        yield parts


@pytest.fixture
def shared_stack(engine: Engine, standing_stack: Stack) -> Stack:
    """An empty store, no faults planned, and an items service that others have used before."""
    empty(engine)
    standing_stack.store_faults.clear()
    standing_stack.items.faults.clear()
    return standing_stack


def empty(engine: Engine) -> None:
    """Forget every record."""
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(str(engine.socket_path))
        wire.sendall(b"FLUSHALL\r\n")
        assert wire.recv(16) == b"+OK\r\n"


@pytest.fixture(scope="session")
def nursery() -> Nursery:
    """A warm process that forks servers to be killed."""
    return standing()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio, as every server here does."""
    return "asyncio"
