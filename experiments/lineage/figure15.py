"""Figure 15: how much faster more partitions are, in processes and on Structured Streaming."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks.report import Table
from experiments.lineage import processes, streaming
from experiments.lineage.trace import Job
from whence import plotting as plots

PAPER: Final = 6.044
"""MB/s for each partition, the most that the paper saw."""
PARTITIONS: Final = {"exact": (1, 2, 4), "grouping": (1, 2)}
"""Processes of each mode; Algorithm 1 is slow."""


_TIMES: Final = ("seconds", "slowest", "behind")
_PANELS: Final = (("by the clock", "speedup"), ("by CPU of the busiest local", "by_cpu"))


def measure(quick: bool, say: Callable[[str], None], *, spark: bool = True) -> dict[str, Any]:
    """Reduce the same trace over more and more partitions, in turns."""
    sizes = {"exact": 400} if quick else {"exact": 120_000, "grouping": 20_000}
    runs = 1 if quick else 2
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="whence-experiment-") as folder:
        for mode, tweets in sizes.items():
            say(f"figure 15: processes, {mode}")
            job = Job(tweets, workers=4)
            partitions = PARTITIONS[mode][:2] if quick else PARTITIONS[mode]
            rows += processes.measure(job, mode, partitions, runs, Path(folder, mode))
        if spark:
            say("figure 15: Structured Streaming")
            rows += streaming.measure(Job(sizes["exact"], workers=4), runs, Path(folder, "log"))
    return {"rows": rows, "runs": runs}


def best(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the shortest times of each system at each number of partitions."""
    kept: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in found["rows"]:
        kept.setdefault((row["system"], row["partitions"]), []).append(row)
    first = {system: rows for (system, partitions), rows in kept.items() if partitions == 1}
    made = []
    for (system, partitions), rows in kept.items():
        least = {key: min(row[key] for row in rows) for key in _TIMES}
        one = {key: min(r[key] for r in first[system]) for key in least}
        speed = rows[0]["bytes"] / 1e6 / least["seconds"]
        made.append(
            {
                "system": system,
                "partitions": partitions,
                "edges": rows[0]["edges"],
                **least,
                "edges_per_second": rows[0]["edges"] / least["seconds"],
                "mb_per_second": speed,
                "speedup": one["seconds"] / least["seconds"],
                "by_cpu": one["slowest"] / least["slowest"] if least["slowest"] else 0.0,
                "possible": rows[0]["edges"] / rows[0]["largest"],
            }
        )
    return made


def tables(found: dict[str, Any]) -> tuple[Table, ...]:
    """Seconds, speed and speedup."""
    rows = tuple(
        (
            row["system"],
            str(row["partitions"]),
            f"{row['edges']:,}",
            f"{row['seconds']:.2f}",
            f"{row['edges_per_second'] / 1e3:.0f}",
            f"{row['mb_per_second']:.1f}",
            f"{row['mb_per_second'] / row['partitions'] / PAPER:.1f}",
            f"{row['speedup']:.2f}",
            f"{row['slowest']:.2f}" if row["slowest"] else "",
            f"{row['behind']:.2f}" if row["behind"] else "",
            f"{row['by_cpu']:.2f}" if row["by_cpu"] else "",
            f"{row['possible']:.2f}",
        )
        for row in best(found)
    )
    speeds = ("k edges/s", "MB/s", "× paper's partition", "speedup")
    work = ("local CPU s", "global CPU s", "by CPU", "possible")
    headers = ("system", "partitions", "edges", "s", *speeds, *work)
    notes = (
        f"best of {found['runs']}, in turns; MB/s of JSON lines, which the paper has at {PAPER} "
        "MB/s a partition",
        "local CPU s: of the busiest local reducer; by CPU: a single one's by that",
        "possible: all edges by those of the largest partition",
    )
    return (Table("Partitions", headers, rows, notes=notes),)


def failures(found: dict[str, Any]) -> list[str]:
    """Every number of partitions gives the same pairs."""
    wrong = []
    for system in dict.fromkeys(row["system"] for row in found["rows"]):
        if len({row["pairs"] for row in found["rows"] if row["system"] == system}) > 1:
            wrong.append(f"{system}: partitions change the answer")
    return wrong


def draw(found: dict[str, Any]) -> plots.Picture:
    """Speedup over partitions, by the clock and by the work of the busiest local reducer."""
    rows = best(found)
    places = sorted({row["partitions"] for row in rows})
    panels = []
    for title, key in _PANELS:
        lines: dict[str, list[float]] = {"ideal": [float(p) for p in places]}
        for row in rows:
            if row[key]:
                lines.setdefault(row["system"], []).append(row[key])
        panels.append(plots.Panel(title, "partitions", places, lines, dashed=("ideal",)))
    return plots.Picture("speedup", tuple(panels))
