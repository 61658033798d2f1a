"""What the doctor finds, one line a check, and what to do where it is not well."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from rich.console import Group
from rich.text import Text

from lib.ops.answer import Answer, plain, table

Status = Literal["ok", "skipped", "accepted", "attention", "failed"]
MARKS: dict[Status, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "skipped": ("-", "dim"),
    "accepted": ("accepted", "dim"),
    "attention": ("look", "yellow"),
    "failed": ("FAILED", "red"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was seen, and what to do about it; never a value of a setting."""

    check: str
    status: Status
    seen: str
    advice: str = ""


def accepting(findings: Sequence[Finding], names: Collection[str]) -> list[Finding]:
    """Let pass what a person has looked after; a failure stays one."""
    return [
        replace(each, status="accepted")
        if each.status == "attention" and each.check in names
        else each
        for each in findings
    ]


def diagnosis(environment: str, findings: Sequence[Finding]) -> Answer:
    """Put the findings together."""
    bad = [each for each in findings if each.status in {"attention", "failed"}]
    rows = table("", "check", "seen")
    for each in findings:
        mark, style = MARKS[each.status]
        rows.add_row(Text(mark, style=style), Text(each.check), Text(plain(each.seen)))
    advice = [Text(f"{each.check}: {plain(each.advice)}") for each in bad]
    count = f"{len(bad)} to look after" if bad else "All well"
    head = Text(f"{count} in {plain(environment)}.")
    return Answer(
        data={"environment": environment, "checks": [asdict(each) for each in findings]},
        shown=Group(rows, "", head, *advice),
        needs_attention=bool(bad),
    )
