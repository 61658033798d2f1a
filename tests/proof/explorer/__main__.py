"""`python -m tests.proof.explorer --attempts 3 --backend keyed`: explore one setting to its end."""

import argparse
import time

from tests.proof.explorer.model import CLASSES
from tests.proof.explorer.search import Search
from tests.proof.explorer.settings import among


def main() -> int:
    """Print how many moments there are, and the shortest way to a broken promise, if any."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.explorer", description=__doc__)
    parser.add_argument("--backend", choices=[*CLASSES, "all"], default="all")
    for name, default in {"attempts": 2, "sweeps": 0, "operators": 0, "losses": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--sends", type=int, default=1, help="requests of one attempt")
    parser.add_argument("--errs", action="store_true", help="operators may say what is not so")
    parser.add_argument("--stranger", action="store_true", help="one key, other arguments")
    parser.add_argument("--limit", type=int, default=3_000_000, help="moments at most")
    asked = vars(parser.parse_args())
    backend, limit = asked.pop("backend"), asked.pop("limit")
    is_broken = False
    for name in CLASSES if backend == "all" else [backend]:
        start = time.perf_counter()
        found = Search(among(name, **asked)).run(limit)
        seconds = time.perf_counter() - start
        end = "" if found.is_whole else " (stopped at the limit)"
        print(f"{name}: {found.states} moments in {seconds:.1f} s{end}")  # noqa: T201  its answer
        if found.broken:
            print(found)  # noqa: T201  its answer
            is_broken = True
    return int(is_broken)


if __name__ == "__main__":
    raise SystemExit(main())
