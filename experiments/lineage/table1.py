"""Table I: size and number of edges before local reducers, after them, and after the global one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.report import Table
from experiments.lineage.partition import Global, Partition, Sized, line_bytes, settings_of
from experiments.lineage.trace import EVEN, SPARSE, Job, trace, truth
from whence import plotting as plots
from whence.lineage.events import Kind, make_batch
from whence.lineage.partitioning import split
from whence.lineage.reduce.local_global import LOCAL_BATCH
from whence.lineage.reduced import flatten

PARTITIONS: Final = 5
PAPER: Final = {"edges": (127.73, 32.98, 17.13), "gigabytes": (28.43, 8.11, 1.47)}
EDGE_RATIO: Final = 7.46
SIZE_RATIO: Final = 19.34


def measure(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Reduce large traces by worker, and small ones in the paper's own mode."""
    few = 2_000 if quick else 100_000
    many = few if quick else 2_600_000
    combine = 50 if quick else 5_000
    cases = {
        "exact, 1.5 hashtags a tweet": ("exact", Job(many, EVEN)),
        "exact, 0.34 hashtags a tweet": ("exact", Job(many * 9 // 4, SPARSE)),
        "exact, the same with a combiner": ("exact", Job(many * 9 // 4, SPARSE, combine)),
        "grouping, 0.34 hashtags a tweet": ("grouping", Job(few, SPARSE)),
        "grouping, the same with a combiner": ("grouping", Job(few, SPARSE, combine)),
    }
    found = []
    for case, (mode, job) in cases.items():
        say(f"table I: {case}")
        found.append({"case": case, **_sizes(mode, job, 500 if quick else LOCAL_BATCH)})
    return {"rows": found}


def _sizes(mode: str, job: Job, local_batch: int) -> dict[str, Any]:
    settings = settings_of(mode, local_batch)
    partitions, behind = [Partition(settings) for _ in range(PARTITIONS)], Global(settings)
    edges, size = [0, 0, 0], [0, 0, 0]
    seconds = 0.0

    def count(stage: int, batch: pa.RecordBatch) -> None:
        told = batch.filter(pa.array(batch.column(0).to_numpy() != Kind.END))
        edges[stage] += told.num_rows
        size[stage] += line_bytes(told)

    def pass_on(passed: pa.RecordBatch) -> float:
        count(1, passed)
        started = time.perf_counter()
        behind.add(passed)
        return time.perf_counter() - started

    for batch in trace(job):
        count(0, batch)
        started = time.perf_counter()
        parts = list(split(batch, "vertical", PARTITIONS))
        ready = [out for partition, part in parts for out in partitions[partition].add(part)]
        seconds += time.perf_counter() - started
        seconds += sum(map(pass_on, ready))
    seconds += sum(pass_on(partition.finish()) for partition in partitions)
    started = time.perf_counter()
    reduced = behind.finish()
    seconds += time.perf_counter() - started
    flat = flatten(reduced)
    edges[2], size[2] = flat.num_rows, line_bytes(_derivations(flat))
    return {
        "tweets": job.tweets,
        "edges": edges,
        "bytes": size,
        "parquet": _parquet(reduced),
        "links": reduced.num_rows,
        "pairs": flat.num_rows,
        "true": truth(job).num_rows,
        "seconds": seconds,
    }


def _derivations(pairs: pa.Table) -> pa.RecordBatch:
    """Return pairs as PROV: what a reduced graph is to those who read nothing else."""
    columns = {name: pairs[name] for name in pairs.column_names}
    return make_batch(kind=int(Kind.DERIVED), **columns)


def _parquet(reduced: pa.Table) -> int:
    counted = Sized()
    with pa.PythonFile(counted, mode="w") as file:
        pq.write_table(reduced.unify_dictionaries(), file)
    return counted.bytes


def tables(found: dict[str, Any]) -> tuple[Table, ...]:
    """Millions of edges and gigabytes, ours below the paper's."""
    rows = [_row("the paper", PAPER["edges"], PAPER["gigabytes"], "")]
    for row in found["rows"]:
        edges = tuple(count / 1e6 for count in row["edges"])
        size = tuple(count / 1e9 for count in row["bytes"])
        rows.append(_row(row["case"], edges, size, f"{row['bytes'][0] / row['parquet']:.0f}"))
    counts = ("M edges in", "local out", "global out", "ratio")
    sizes = ("GB in", "local out", "global out", "ratio", "as Parquet")
    headers = ("", *counts, *sizes)
    notes = (f"{PARTITIONS} partitions by worker, local batches of {LOCAL_BATCH:,}; JSON lines",)
    return (Table("Edges and their size", headers, tuple(rows), notes=notes),)


def _row(case: str, edges: Any, size: Any, parquet: str) -> tuple[str, ...]:
    counts = [f"{count:.3f}" if count < 1 else f"{count:.2f}" for count in edges]
    sizes = [f"{count:.3f}" if count < 1 else f"{count:.2f}" for count in size]
    return (
        case,
        *counts,
        f"{edges[0] / edges[2]:.2f}",
        *sizes,
        f"{size[0] / size[2]:.2f}",
        parquet,
    )


def failures(found: dict[str, Any]) -> list[str]:
    """Every reduction has as many pairs as are true."""
    return [
        f"{row['case']}: {row['pairs']:,} pairs of {row['true']:,}"
        for row in found["rows"]
        if row["pairs"] != row["true"]
    ]


def draw(found: dict[str, Any]) -> plots.Picture:
    """The share of edges, and of bytes, that is left at each stage."""
    panels = []
    for title, key, paper in (("edges", "edges", "edges"), ("bytes", "bytes", "gigabytes")):
        lines = {"the paper": _shares(PAPER[paper])}
        lines |= {row["case"]: _shares(row[key]) for row in found["rows"]}
        stages, paper_alone = ("input", "local out", "global out"), ("the paper",)
        panels.append(plots.Panel(title, "stage", (0, 1, 2), lines, paper_alone, stages))
    return plots.Picture("% of the input", tuple(panels))


def _shares(values: Any) -> list[float]:
    return [100 * value / values[0] for value in values]
