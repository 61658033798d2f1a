"""AWS Lambda as far as a handler sees it: one process, one event after another, a clock each.

Run as a module, it takes lines of `[event, milliseconds left]` and answers each with the result.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from tests.harness.nursery import standing
from tests.harness.servers import ROOT

PATH = "/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Context:
    """The part of Lambda's context that a deadline needs. ends: by the steady clock."""

    ends: float

    def get_remaining_time_in_millis(self) -> int:
        """Tell what is left, as Lambda does."""
        return int(max(0.0, self.ends - time.monotonic()) * 1000)


@dataclass(frozen=True, slots=True)
class Function:
    """A warm function: where its events go in, and where its results come out."""

    events: IO[str]
    results: IO[str]

    def invoke(self, event: dict[str, Any], *, left_ms: int = 15_000) -> dict[str, Any]:
        """Send one event, and give what the handler returned."""
        self.events.write(json.dumps([event, left_ms]) + "\n")
        self.events.flush()
        return json.loads(self.results.readline())


@contextmanager
def warm_function(env: dict[str, str]) -> Generator[Function]:
    """Run a function with exactly this environment."""
    events, near_in = os.pipe()
    near_out, results = os.pipe()
    with os.fdopen(near_in, "w") as sent, os.fdopen(near_out) as told:
        streams = (events, results, 2)
        child = standing().run(
            "tests.harness.lambda_host", env={"PATH": PATH, **env}, streams=streams
        )
        os.close(events)
        os.close(results)
        try:
            yield Function(sent, told)
        finally:
            sent.close()
            child.wait()


@contextmanager
def cold_function(env: dict[str, str]) -> Generator[Function]:
    """Run a function in an interpreter that has imported nothing, with exactly this environment."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.harness.lambda_host"],
        cwd=ROOT,
        env={"PATH": PATH, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as popen:
        assert popen.stdin
        assert popen.stdout
        yield Function(popen.stdin, popen.stdout)


def main() -> None:
    """Handle events until there are none."""
    from lib.aws_lambda import handler

    for line in sys.stdin:
        event, left_ms = json.loads(line)
        context: Any = Context(time.monotonic() + left_ms / 1000)
        print(json.dumps(handler(event, context)), flush=True)  # noqa: T201  the answer's way out


if __name__ == "__main__":
    main()
