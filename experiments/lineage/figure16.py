"""Figure 16: how many edges local reducers pass on, by partitioning and batch size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from benchmarks.report import Table
from experiments.lineage.figure14 import judged
from experiments.lineage.partition import settings_of
from experiments.lineage.trace import FUNCTIONS, Job, trace, truth
from whence import plotting as plots
from whence.lineage.partitioning import STRATEGIES, Strategy, split
from whence.lineage.reduce.local_global import LocalGlobal
from whence.lineage.reduced import Pair, pairs_of

PARTITIONS: Final = 5
"""As many slaves as the paper has."""
CASES: Final = {
    "grouping: map, reduce": ("grouping", False),
    "grouping: map, combine, reduce": ("grouping", True),
    "exact: map, combine, reduce": ("exact", True),
}


def measure(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Count what is passed on in every case, and judge what comes of it."""
    tweets, combine = (1_000, 40) if quick else (12_000, 200)
    sizes = (200, 2_000) if quick else (250, 500, 1_000, 2_000, 5_000)
    rows = []
    for case, (mode, combined) in CASES.items():
        say(f"figure 16: {case}")
        job = Job(tweets, combine=combine if combined else 0, workers=PARTITIONS)
        batches, true = list(trace(job)), pairs_of(truth(job))
        for strategy in STRATEGIES:
            for size in sizes:
                row = _passed(batches, true, mode, strategy, size)
                rows.append({"case": case, "strategy": strategy, "size": size, **row})
    return {"tweets": tweets, "combine": combine, "rows": rows}


def _passed(
    batches: list[pa.RecordBatch], true: set[Pair], mode: str, strategy: Strategy, size: int
) -> dict[str, Any]:
    reducer = LocalGlobal(PARTITIONS, settings_of(mode, size))
    links: list[pa.RecordBatch] = []
    for batch in batches:
        for partition, part in split(batch, strategy, PARTITIONS, functions=FUNCTIONS):
            reducer.add(partition, part)
        links += reducer.drain()
    links += reducer.finish()
    right = judged(pairs_of(pa.Table.from_batches(links)), true)
    flow = reducer.flow
    return {"edges": flow.edges, "passed": flow.local_out, "accuracy": right["accuracy"]}


def tables(found: dict[str, Any]) -> tuple[Table, ...]:
    """Edges passed on over the batch size."""
    sizes = sorted({row["size"] for row in found["rows"]})
    rows = []
    for case in CASES:
        for strategy in STRATEGIES:
            chosen = [r for r in found["rows"] if (r["case"], r["strategy"]) == (case, strategy)]
            passed = {row["size"]: row["passed"] for row in chosen}
            least = min(row["accuracy"] for row in chosen)
            cells = [f"{passed[size] / 1e3:.1f}" for size in sizes]
            told = "100" if least == 1 else f"{min(100 * least, 99.99):.2f}"
            rows.append((case, strategy, f"{chosen[0]['edges'] / 1e3:.1f}", *cells, told))
    headers = ("case", "strategy", "in", *(f"{size:,}" for size in sizes), "accuracy %")
    title = f"Thousands of edges that {PARTITIONS} local reducers pass on, by local batch size"
    return (Table(title, headers, tuple(rows), left=2),)


def failures(found: dict[str, Any]) -> list[str]:
    """Nobody passes on more than came in, and the exact mode loses nothing."""
    wrong = []
    if any(row["passed"] > row["edges"] for row in found["rows"]):
        wrong.append("local reducers pass on more than they were given")
    if any(row["accuracy"] < 1 for row in found["rows"] if row["case"].startswith("exact")):
        wrong.append("exact is not exact")
    return wrong


def draw(found: dict[str, Any]) -> plots.Picture:
    """Edges passed on over the batch size, a panel for each case."""
    sizes = sorted({row["size"] for row in found["rows"]})
    panels = []
    for case in CASES:
        lines: dict[str, list[float]] = {}
        for row in found["rows"]:
            if row["case"] == case:
                lines.setdefault(row["strategy"], []).append(row["passed"] / 1e3)
        panels.append(plots.Panel(case, "local batch size", sizes, lines))
    return plots.Picture("thousands of edges passed on", tuple(panels), logarithmic=True)
