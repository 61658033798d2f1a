"""`uv run -m lib.dev` and `uv run -m lib.dev demo`: the command line, and nothing else."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lib.dev.stopping import Stop, stop_on_signals

DEFAULT_PORT = 3000
_LAST_PORT = 65535
_CUT_SHORT = 130
_DATA = Path(__file__).parents[2] / ".local"
_NO_FCNTL = (
    "The dev server needs Linux or macOS. Elsewhere, put the settings of a real database and a real"
    " backend into .env (see .env.example), and run: uv run uvicorn api.index:app"
)
_SETTINGS = """\
your own settings, from the shell and .env, read at the start; the shell wins:
  BACKEND_URL, with its two tokens, replaces the sample items service.
  KV_REST_API_URL or UPSTASH_REDIS_REST_URL, with its tokens, replaces the
  embedded store. Tokens without their URL are not used.
  AGENT_KEYS stay valid beside the two keys that are printed. Any other setting
  wins over what would be generated for it.
  What Vercel sets about a deployment (VERCEL, VERCEL_ENV, ...) is left out.
  --preview withholds the write tokens, as a deployment must; all four SCRATCH_
  names together count.
"""


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; the exit status."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.command == "demo" and len(arguments) > 1:
        parser.error("demo takes no options; it uses its own data and any free port")
    if sys.platform == "win32":
        print(_NO_FCNTL, file=sys.stderr)
        return 1
    stop_on_signals()
    # To stop is how a dev server ends; a story cut short has not come true.
    status = _CUT_SHORT if asked.command == "demo" else 0
    with suppress(Stop):
        status = _demo() if asked.command == "demo" else _run(asked)
    return status


def _demo() -> int:
    from lib.dev.demo import demo

    return demo(dict(os.environ))  # noqa: TID251 - handed on to the server's processes


def _run(asked: argparse.Namespace) -> int:
    from lib.dev.run import Options, run

    options = Options(
        port=asked.port,
        data=asked.data.expanduser().resolve(),
        is_fresh=asked.fresh,
        is_preview=asked.preview,
        is_services_only=asked.services_only,
    )
    return run(options, dict(os.environ))  # noqa: TID251 - handed on to the server's process


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="uv run -m lib.dev",
        description="Run the MCP server with an embedded store and a sample items service.",
        epilog=_SETTINGS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "command",
        nargs="?",
        choices=["demo"],
        help="tell the story of a killed function, with real kills, in under 20 seconds",
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=DEFAULT_PORT,
        help=f"where the MCP server listens; 0 = any free port (default: {DEFAULT_PORT})",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=_DATA,
        metavar="DIR",
        help="where the store, the items and the keys are kept (default: .local)",
    )
    parser.add_argument("--fresh", action="store_true", help="remove what was kept, keys included")
    parser.add_argument(
        "--preview", action="store_true", help="play a preview environment: no commands"
    )
    parser.add_argument(
        "--services-only",
        action="store_true",
        help="no MCP server: print its environment, for `uvicorn` or `vercel dev` by hand",
    )
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"a number from 0 to {_LAST_PORT}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
