"""The figures as a person reads them: tables in Markdown, and one plot in SVG."""

from html import escape
from itertools import groupby
from typing import Any

from tests.bench.rows import Row

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 300, 60, 40, 50
COLOURS = {"settle": "#0a7d5a", "bare": "#8a8f98"}


def table(rows: list[Row]) -> str:
    """Write the rows as a Markdown table."""
    lines = [
        "| what | against | least | ratio or count | of medians | target | |",
        "|---" * 7 + "|",
    ]
    for row in rows:
        met = {True: "met", False: "missed", None: ""}[row.is_met]
        value = "" if row.value is None else f"{row.value:g}"
        median = "" if row.median is None else f"{row.median:g}"
        cells = (row.what, row.against, row.measured, value, median, f"≤ {row.target:g}", met)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def brief_table(rows: list[Row]) -> str:
    """Write the same in few lines: the ratios of the least, and what they should be."""
    lines = ["| what | measured | target |", "|---" * 3 + "|"]
    for brief, group in groupby(rows, key=lambda row: row.brief):
        shared = list(group)
        values = " / ".join("" if row.value is None else f"{row.value:g}" for row in shared)
        targets = " / ".join(f"{target:g}" for target in dict.fromkeys(r.target for r in shared))
        lines.append(f"| {brief} | {values} | ≤ {targets} |")
    return "\n".join(lines)


def growth_tables(growth: dict[str, Any]) -> str:
    """Write what grew, each with its own columns."""
    parts = [
        _grid("Calls at once", growth["calls_at_once"]),
        _grid("Tools: CPU ms of a listing, and of one query among so many", growth["tools"]),
        _grid("Latency of the store: wall ms of one command", growth["store_ms"]),
        _grid("Memory over a long run of queries", growth["memory"]),
    ]
    return "\n\n".join(parts)


def plot(calls_at_once: list[dict[str, Any]]) -> str:
    """Draw the median latency over the calls at once, both axes in powers of two."""
    levels = sorted({each["at_once"] for each in calls_at_once})
    top_ms = max(each["median_ms"] for each in calls_at_once) * 1.1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        "<style>text { font: 12px sans-serif }</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 20, "Median ms of a query over calls at once, one process"),
    ]
    for number, level in enumerate(levels):
        parts.append(_text(_x(number, len(levels)), HEIGHT - BOTTOM + 20, str(level)))
    for part in (0, 0.5, 1):
        y = _y(part * top_ms, top_ms)
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - 20}" stroke="#ddd"/>')
        parts.append(_text(8, y + 4, f"{part * top_ms:.0f} ms"))
    for name, colour in COLOURS.items():
        parts += _line(
            name, colour, [each for each in calls_at_once if each["server"] == name], top_ms
        )
    return "\n".join([*parts, "</svg>", ""])


def _line(name: str, colour: str, found: list[dict[str, Any]], top_ms: float) -> list[str]:
    points = [
        (_x(number, len(found)), _y(each["median_ms"], top_ms)) for number, each in enumerate(found)
    ]
    path = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
    offset = -8 if name == "settle" else 16
    last = points[-1]
    return [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="{colour}"/>' for x, y in points),
        _text(last[0] - 40, last[1] + offset, name, colour),
    ]


def _x(number: int, count: int) -> float:
    return LEFT + 20 + number * (WIDTH - LEFT - 80) / max(1, count - 1)


def _y(ms: float, top_ms: float) -> float:
    return HEIGHT - BOTTOM - ms / top_ms * (HEIGHT - TOP - BOTTOM)


def _text(x: float, y: float, text: str, colour: str = "#222") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}">{escape(text)}</text>'


def _grid(title: str, found: list[dict[str, Any]]) -> str:
    names = list(found[0])
    lines = [f"**{title}**", "", f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    lines += [f"| {' | '.join(str(each[name]) for name in names)} |" for each in found]
    return "\n".join(lines)
