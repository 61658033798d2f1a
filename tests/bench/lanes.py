"""The processes that are measured in turn, so that whatever disturbs one disturbs its rivals."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import IO, Any

from tests.harness.servers import ROOT


class Lane:
    """One process that drives one application."""

    def __init__(self, popen: subprocess.Popen[str]) -> None:
        """Wait until it is ready."""
        assert popen.stdin is not None
        assert popen.stdout is not None
        self._orders: IO[str] = popen.stdin
        self._answers: IO[str] = popen.stdout
        self._heard()

    def ask(self, do: str, **order: Any) -> Any:
        """Give one order and wait for its answer."""
        self._orders.write(json.dumps({"do": do, **order}) + "\n")
        self._orders.flush()
        return self._heard()

    def _heard(self) -> Any:
        line = self._answers.readline()
        if not line:
            raise RuntimeError("a measured process ended")
        return json.loads(line)


@contextmanager
def lane(target: str, env: dict[str, str], *, tools: int | None = None) -> Generator[Lane]:
    """Start a process for `module:name`; with `tools`, the name is a factory that takes them."""
    count = [] if tools is None else [str(tools)]
    popen = subprocess.Popen(  # noqa: S603  our own interpreter and arguments
        [sys.executable, "-m", "tests.bench.driven", target, *count],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Lane(popen)
    finally:
        popen.kill()
        popen.wait(10)
        for pipe in (popen.stdin, popen.stdout):
            if pipe is not None:
                pipe.close()


def in_turn(asked: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Measure each once per round, after one round that only warms."""
    taken: dict[str, list[float]] = {name: [] for name in asked}
    for number in range(rounds + 1):
        for name, measure in asked.items():
            value = measure()
            if number:
                taken[name].append(value)
    return taken


def spread(values: list[float]) -> dict[str, float]:
    """Give the least, the median and the number of samples."""
    found = {"min": min(values), "median": statistics.median(values), "n": len(values)}
    return {name: round(value, 4) for name, value in found.items()}
