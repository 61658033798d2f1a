"""What the dev server tells the person at the terminal: one block, then short notes."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lib.dev.environment import Systems, Yours
from lib.dev.kept_secrets import Secrets
from lib.machinery.pages.connect import snippet
from lib.settings import SettingFault

_LABEL_WIDTH = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What there is to tell. url: of the server, without a slash; None without a server."""

    secrets: Secrets
    systems: Systems
    yours: Yours
    data: Path
    is_preview: bool
    url: str | None = None
    faults: tuple[SettingFault, ...] = ()


def tell(console: Console, told: Told, shell_lines: str = "") -> None:
    """Print the block. shell_lines: what a server run by hand needs, where we run none."""
    kind = "a preview environment" if told.is_preview else "development"
    _line(console, Text(f"\nSettle, {kind}\n", style="bold"))
    if told.url is None:
        _tell_places(console, told)
        _tell_by_hand(console, shell_lines, told.data)
    else:
        _labelled(console, "MCP", f"{told.url}/mcp", "and /mcp/readonly: queries only")
        _labelled(console, "Page", f"{told.url}/", "what there is, how to connect")
        _tell_places(console, told)
        _tell_faults(console, told)
        _tell_clients(console, told)
    _line(console, "\nStop with Ctrl-C. Data and keys are kept; --fresh begins anew.\n")


def note(console: Console, text: str) -> None:
    """Print one note among the server's log."""
    _line(console, Text(text, style="bold"))


def _tell_places(console: Console, told: Told) -> None:
    secrets, systems = told.secrets, told.systems
    write = "a preview has no commands" if told.is_preview else "queries and commands"
    _labelled(console, "Read key", secrets.read_key, "queries")
    _labelled(console, "Write key", secrets.write_key, write)
    if systems.store_url is None:
        _labelled(console, "Store", f"yours, {told.yours.store_url}")
    else:
        _labelled(
            console, "Store", "Valkey, embedded", f"{systems.store_url} speaks Upstash's REST"
        )
    if systems.items_url is None:
        _labelled(console, "Backend", f"yours, {told.yours.backend_url}")
    else:
        _labelled(console, "Backend", "the sample items service", systems.items_url)
    _labelled(console, "Data", f"{told.data}/", "the store's file, the items, the keys")


def _tell_faults(console: Console, told: Told) -> None:
    if told.faults:
        _line(console, Text("\nThe server refuses every call until this is set right:", "bold"))
    for fault in told.faults:
        _line(console, f"  {fault.variable}  {fault.problem}")


def _tell_clients(console: Console, told: Told) -> None:
    _line(console, Text("\nConnect Claude Code; other clients take the same URL and header:\n"))
    command = snippet("Claude Code", f"{told.url}/mcp", key=told.secrets.write_key)
    _line(console, Text(command, style="cyan"))
    _line(console, "\nA change under api/ or lib/ reloads the server.")


def _tell_by_hand(console: Console, shell_lines: str, data: Path) -> None:
    _line(console, Text("\nRun the server yourself, in a shell that has read these lines:\n"))
    _line(console, Text(shell_lines.rstrip(), style="cyan"))
    _line(console, "\nThey are in a file too, as long as this runs:\n")
    _line(console, Text(f". {data / 'env'}\nuv run uvicorn api.index:app --reload", style="cyan"))


def _labelled(console: Console, label: str, value: str, remark: str = "") -> None:
    line = Text.assemble(f"  {label:<{_LABEL_WIDTH}}", (value, "bold"))
    _line(console, line.append(f"  {remark}", "dim") if remark else line)


def _line(console: Console, text: Text | str) -> None:
    # Soft wrap: the terminal folds a long line, so that it is copied as the one line it is.
    console.print(text, soft_wrap=True, markup=False, highlight=False, emoji=False)
