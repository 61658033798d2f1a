"""What a command of the operator's says: once for programs, once for a person.

Text that others chose (a principal, a code) is shown without its control characters, and never
read as markup.
"""

import json
import sys
from dataclasses import dataclass
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

PIPED_WIDTH = 160  # columns; a line that a program reads should not be folded
UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


class CannotError(Exception):
    """The command cannot do its work, or was asked for nothing it could do; says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """data: the JSON object. shown: the same for a person; a string is never folded."""

    data: dict[str, Any]
    shown: RenderableType
    needs_attention: bool = False


def tell(answer: Answer, *, as_json: bool) -> None:
    """Write an answer to standard output; coloured only on a terminal."""
    if as_json:
        said = {"needs_attention": answer.needs_attention, **answer.data}
        sys.stdout.write(json.dumps(said, indent=2) + "\n")
        return
    if isinstance(answer.shown, str):  # it holds lines to copy
        sys.stdout.write(f"{answer.shown}\n")
        return
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    console.print(answer.shown)


def tell_fault(fault: CannotError, *, as_json: bool) -> None:
    """Say why nothing was done: to programs on standard output, to people on standard error."""
    if as_json:
        error = {"code": fault.code, "message": fault.message}
        sys.stdout.write(json.dumps({"error": error}, indent=2) + "\n")
    else:
        sys.stderr.write(f"{fault.message}\n")


def plain(text: str) -> str:
    """Escape what a terminal would obey."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def table(*headings: str) -> Table:
    """Begin a table without lines, as wide as its cells."""
    started = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in headings:
        started.add_column(heading, overflow="fold")
    return started


def pairs(rows: dict[str, object]) -> Table:
    """Lay out names and values, one pair a line."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(name, Text(plain(str(value))))
    return grid


def span(ms: int) -> str:
    """Write a duration in the largest unit that it holds twice: `90 s`, `3 min`, `5 h`, `12 d`."""
    held = ((size, unit) for size, unit in UNITS if ms >= 2 * size)
    size, unit = next(held, UNITS[-1])
    return f"{ms // size} {unit}"
