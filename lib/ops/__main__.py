"""`uv run -m lib.ops`: doctor, list, show, resolve, key new.

Exit status: 0 nothing needs attention, 1 something does, 2 wrong usage or it cannot work.
With --json the answer is one object on standard output. Audit lines go to standard error.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from secrets import token_hex

from lib.machinery.gate.audit import LOG as AUDIT
from lib.machinery.runner.store import StoreSilentError
from lib.ops.answer import Answer, CannotError, tell, tell_fault
from lib.ops.doctor import examine
from lib.ops.keys import Wish, new_key
from lib.ops.operations import list_open, show
from lib.ops.reach import opened, reached, reading_address, reason_of, writing_address
from lib.ops.resolve import Word, resolve

SHOWN = 200  # operations in one list
OK, ATTENTION, CANNOT, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status."""
    # What the runner logs, a conflict above all, must reach the person too.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    AUDIT.setLevel(logging.INFO)
    asked = _parser().parse_args(arguments)
    try:
        answer = asyncio.run(_answer(asked))
    except CannotError as fault:
        tell_fault(fault, as_json=asked.json)
        return CANNOT
    except StoreSilentError as silence:
        said = f"The store gave no usable answer ({reason_of(silence)}). Nothing was changed."
        tell_fault(CannotError("store_silent", said), as_json=asked.json)
        return CANNOT
    except KeyboardInterrupt:
        return INTERRUPTED
    tell(answer, as_json=asked.json)
    return ATTENTION if answer.needs_attention else OK


async def _answer(asked: argparse.Namespace) -> Answer:
    match asked.command:
        case "doctor":
            return await examine(reached(), asked.accept)
        case "key":
            wish = Wish(
                name=asked.id or f"key-{token_hex(3)}",
                scopes=asked.scopes,
                allowed=asked.allow_scope,
                expires=asked.expires,
            )
            return new_key(wish)
        case "resolve":
            here = reached()
            word = Word(occurred=asked.occurred, reason=asked.reason)
            async with opened(here, writing_address(here)) as store:
                return await resolve(store, asked.operation, word)
        case _:
            here = reached()
            async with opened(here, reading_address(here)) as store:
                if asked.command == "list":
                    return await list_open(store, asked.limit)
                return await show(store, asked.operation)


def _parser() -> argparse.ArgumentParser:
    as_json = argparse.ArgumentParser(add_help=False)
    as_json.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser = argparse.ArgumentParser(
        prog="lib.ops", description="What a person asks and decides about a deployment."
    )
    commands = parser.add_subparsers(dest="command", required=True)

    doctor = commands.add_parser("doctor", parents=[as_json], help="check this environment")
    doctor.add_argument("--accept", action="append", default=[], metavar="CHECK")
    listing = commands.add_parser("list", parents=[as_json], help="what is open or in doubt")
    listing.add_argument("--limit", type=_count, default=SHOWN, metavar="N")
    one = commands.add_parser("show", parents=[as_json], help="all that is kept of one operation")
    one.add_argument("operation", metavar="ID")

    word = commands.add_parser("resolve", parents=[as_json], help="settle one by a person's word")
    word.add_argument("operation", metavar="ID")
    said = word.add_mutually_exclusive_group(required=True)
    said.add_argument("--occurred", action="store_true", help="it happened")
    said.add_argument("--not-executed", action="store_true", help="it did not, and will not")
    word.add_argument("--reason", required=True, help="how you know; it goes to the audit line")

    key = commands.add_parser("key", help="agent keys").add_subparsers(dest="verb", required=True)
    new = key.add_parser("new", parents=[as_json], help="make one, and show it this once")
    new.add_argument(
        "--id", help="the principal's name, kept when a key is replaced; a made-up one if not given"
    )
    new.add_argument("--scopes", required=True, metavar="SCOPE,…")
    new.add_argument("--allow-scope", action="append", default=[], metavar="SCOPE")
    new.add_argument("--expires", metavar="90d|RFC3339")
    return parser


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError(text)
    return count


if __name__ == "__main__":
    sys.exit(main())
