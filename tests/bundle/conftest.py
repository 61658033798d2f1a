"""One build for all tests of the bundle."""

from pathlib import Path

import pytest

from tests.harness.bundle import build

STRAY = "stray-secret-0123456789"


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the tree once, with secrets lying around in it."""
    return build(tmp_path_factory.mktemp("bundle"), secret=STRAY)
