"""The table: each figure against what it is measured by, and the target it was given."""

from dataclasses import asdict, dataclass
from typing import Any

from lib.machinery.runner.perform import TWIN_WAITS_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line. value: None where the peer was not there to compare with."""

    what: str
    against: str
    value: float | None
    target: float
    measured: str

    @property
    def is_met(self) -> bool | None:
        """It is at most the target."""
        return None if self.value is None else self.value <= self.target

    def plain(self) -> dict[str, Any]:
        """Give it as JSON takes it."""
        return {**asdict(self), "is_met": self.is_met}


def rows(found: dict[str, Any]) -> list[Row]:
    """Read every row from what was measured."""
    return [*_cold(found["cold"]), *_warm(found["warm"]["cpu_ms"]), *_store(found), _bundle(found)]


def _cold(cold: dict[str, Any]) -> list[Row]:
    bare, peer = cold["bare"], cold.get("peer")
    lines = [
        _ratio(
            f"cold start to the first tools/list, {kind}",
            against,
            (cold["settle"][unit]["min"], other and other[unit]["min"]),
            target,
            unit="ms",
        )
        for against, other, target in (("bare SDK server", bare, 1.10), ("FastMCP", peer, 0.75))
        for kind, unit in (("CPU", "cpu_ms"), ("wall", "wall_ms"))
    ]
    first = [
        _ratio(
            f"first answer of {path}, CPU",
            "bare SDK server's cold start",
            (cold[path]["cpu_ms"]["min"], bare["cpu_ms"]["min"]),
            0.45,
            unit="ms",
        )
        for path in ("/healthz", "/", "401")
    ]
    peaks = (cold["settle"]["peak_mb"]["min"], bare["peak_mb"]["min"])
    return [*lines, *first, _ratio("peak memory", "bare SDK server", peaks, 1.15, unit="MB")]


def _warm(cpu: dict[str, Any]) -> list[Row]:
    least = {name: each["min"] for name, each in cpu.items()}
    beyond = least["command"] - least["query"]
    exchange = least["query and exchange"] - least["query"]
    per_tool = (least["list of 500"] / 500, least["list of 5"] / 5)
    what = "query tools/call, CPU"
    return [
        _ratio(what, "bare SDK server", (least["query"], least["query, bare"]), 1.25, unit="ms"),
        _ratio(what, "FastMCP", (least["query"], least.get("query, peer")), 0.80, unit="ms"),
        _ratio(
            "command beyond a query, CPU",
            "one httpx POST to the store",
            (beyond, exchange),
            2.6,
            unit="ms",
        ),
        _ratio("tools/list with 500, per tool, CPU", "with 5", per_tool, 1.0, unit="ms"),
    ]


def _store(found: dict[str, Any]) -> list[Row]:
    store = found["warm"]["store"]
    of_duplicates = store["duplicates"]
    counts = [
        ("command: store round trips", store["command"]["round_trips"], 2),
        ("command: billed store commands", store["command"]["billed"], 7),
        ("replay: store round trips", store["replay"]["round_trips"], 1),
        ("replay: billed store commands", store["replay"]["billed"], 3),
        ("64 duplicates at once: effects", of_duplicates["effects"], 1),
        (
            "64 duplicates at once: round trips of each, 4 looks at most while it waits",
            of_duplicates["per_duplicate"],
            1 + len(TWIN_WAITS_S),
        ),
    ]
    return [
        Row(what=what, against="counted", value=value, target=target, measured=str(value))
        for what, value, target in counts
    ]


def _bundle(found: dict[str, Any]) -> Row:
    mb = round(sum(found["bundle"].values()) / 2**20, 1)
    return Row(what="bundle, MB", against="counted", value=mb, target=50, measured=f"{mb} MB")


def _ratio(
    what: str, against: str, pair: tuple[float, float | None], target: float, *, unit: str
) -> Row:
    ours, theirs = pair
    if theirs is None:
        return Row(what=what, against=against, value=None, target=target, measured="not installed")
    return Row(
        what=what,
        against=against,
        value=round(ours / theirs, 2),
        target=target,
        measured=f"{ours:.3g} {unit} : {theirs:.3g} {unit}",
    )
