"""Who says when a request ends: another host first, then Vercel's runtime, else nobody.

Source: vercel-runtime, `get_deadline` (an aware instant of the running request, or None).
"""

import sys
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from importlib.util import find_spec, module_from_spec
from types import ModuleType

import pytest

END = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


class Runtime(ModuleType):
    """Vercel's runtime as far as it is asked."""

    end: ContextVar[datetime | None] = ContextVar("end", default=None)

    def get_deadline(self) -> datetime | None:
        """Tell when the running request ends."""
        return self.end.get()


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """Be where Vercel runs us."""
    sys.modules["vercel_runtime"] = here = Runtime("vercel_runtime")
    yield here
    del sys.modules["vercel_runtime"]


@pytest.fixture
def platform() -> ModuleType:
    """Load the module as a process that starts here would: it looks for a runtime once."""
    spec = find_spec("lib.machinery.platform")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_off_the_platform_nobody_says(platform: ModuleType) -> None:
    assert platform.platform_end() is None


def test_on_vercel_the_runtime_says_for_each_request(
    runtime: Runtime, platform: ModuleType
) -> None:
    assert platform.platform_end() is None
    with_end = runtime.end.set(END)
    assert platform.platform_end() == END.timestamp()
    runtime.end.reset(with_end)
    assert platform.platform_end() is None


def test_another_hosts_word_goes_before_the_runtimes(
    runtime: Runtime, platform: ModuleType
) -> None:
    with_end = runtime.end.set(END)
    with_host = platform.HOST_ENDS.set(0.0)
    assert platform.platform_end() == 0.0
    platform.HOST_ENDS.reset(with_host)
    runtime.end.reset(with_end)
