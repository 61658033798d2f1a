"""The table: each figure against what it is measured by, and the target it was given."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from lib.machinery.runner.perform import TWIN_WAITS_S

COLD = "cold start to `tools/list`, CPU / wall, against"
FIRST = "first `/healthz` / `/` / 401, CPU, against the bare SDK server's cold start"
BEYOND = "command beyond a query, CPU, against one `httpx` POST to the store"
QUERY = "query, CPU, against the bare SDK server / FastMCP"
LISTING = "`tools/list` of 500 tools, CPU of each, against 5 tools"
MEMORY = "peak memory, against bare SDK server"
STORE = "command: round trips to the store / billed; replay: the same"
DUPLICATES = "64 duplicates at once: effects / round trips of each, its waiting included"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line. value, median: ratios of the least samples and of medians; None without a peer.

    brief: what it is called in the README, where rows of one name share a line.
    """

    what: str
    brief: str
    against: str
    value: float | None
    median: float | None = None
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
    cold, warm = found["cold"], found["warm"]["cpu_ms"]
    least = [*_cold(cold, "min"), *_warm(warm, "min")]
    medians = [*_cold(cold, "median"), *_warm(warm, "median")]
    both = zip(least, medians, strict=True)
    return [*(replace(row, median=other.value) for row, other in both), *_counted(found)]


def _cold(cold: dict[str, Any], by: str) -> list[Row]:
    bare, peer = cold["bare"], cold.get("peer")
    lines = [
        _ratio(
            (f"cold start to the first tools/list, {kind}", against, f"{COLD} {against}"),
            (cold["settle"][unit][by], other and other[unit][by]),
            target,
        )
        for against, other, target in (("bare SDK server", bare, 1.10), ("FastMCP", peer, 0.75))
        for kind, unit in (("CPU", "cpu_ms"), ("wall", "wall_ms"))
    ]
    first = [
        _ratio(
            (f"first answer of {path}, CPU", "bare SDK server's cold start", FIRST),
            (cold[path]["cpu_ms"][by], bare["cpu_ms"][by]),
            0.45,
        )
        for path in ("/healthz", "/", "401")
    ]
    peaks = (cold["settle"]["peak_mb"][by], bare["peak_mb"][by])
    memory = _ratio(("peak memory", "bare SDK server", MEMORY), peaks, 1.15, unit="MB")
    return [*lines, *first, memory]


def _warm(cpu: dict[str, Any], by: str) -> list[Row]:
    ms = {name: each[by] for name, each in cpu.items()}
    beyond = ms["command"] - ms["query"]
    exchange = ms["query and exchange"] - ms["query"]
    per_tool = (ms["list of 500"] / 500, ms["list of 5"] / 5)
    what = "query tools/call, CPU"
    return [
        *(
            _ratio((what, against, QUERY), pair, target)
            for against, pair, target in (
                ("bare SDK server", (ms["query"], ms["query, bare"]), 1.25),
                ("FastMCP", (ms["query"], ms.get("query, peer")), 0.80),
            )
        ),
        _ratio(
            ("command beyond a query, CPU", "one httpx POST to the store", BEYOND),
            (beyond, exchange),
            2.6,
        ),
        _ratio(("tools/list with 500, per tool, CPU", "with 5", LISTING), per_tool, 1.0),
    ]


def _counted(found: dict[str, Any]) -> list[Row]:
    store = found["warm"]["store"]
    of_duplicates = store["duplicates"]
    counts = [
        ("command: store round trips", STORE, store["command"]["round_trips"], 2),
        ("command: billed store commands", STORE, store["command"]["billed"], 7),
        ("replay: store round trips", STORE, store["replay"]["round_trips"], 1),
        ("replay: billed store commands", STORE, store["replay"]["billed"], 3),
        ("64 duplicates at once: effects", DUPLICATES, of_duplicates["effects"], 1),
        (
            "64 duplicates at once: round trips of each, 4 looks at most while it waits",
            DUPLICATES,
            of_duplicates["per_duplicate"],
            1 + len(TWIN_WAITS_S),
        ),
    ]
    mb = round(sum(found["bundle"].values()) / 2**20, 1)
    return [
        Row(
            what=what,
            brief=brief,
            against="counted",
            value=value,
            target=target,
            measured=str(value),
        )
        for what, brief, value, target in [*counts, ("bundle, MB", "bundle, MB", mb, 50)]
    ]


def _ratio(
    names: tuple[str, str, str],
    pair: tuple[float, float | None],
    target: float,
    *,
    unit: str = "ms",
) -> Row:
    ours, theirs = pair
    is_there = theirs is not None
    return Row(
        what=names[0],
        against=names[1],
        brief=names[2],
        value=round(ours / theirs, 2) if is_there else None,
        target=target,
        measured=f"{ours:.3g} {unit} : {theirs:.3g} {unit}" if is_there else "not installed",
    )
