"""Local reducers: what strategies and batch sizes save, and a stream on one and two partitions.

Run as a process of its own: `python -m benchmarks.lineage.partitions '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from benchmarks import measured
from benchmarks.lineage.traces import hashtag_trace
from benchmarks.report import Table
from benchmarks.told import Told

STRATEGIES: Final = ("horizontal", "vertical", "random")
MODES: Final = ("exact", "grouping")
_PARTITIONS: Final = 5
"""As many as the paper's third experiment has."""


def measure(quick: bool) -> dict[str, Any]:
    """Count what local reducers pass on, then time batches on Spark."""
    tweets = 2_000 if quick else 40_000
    return {"passed": _passed(tweets, quick), "streams": _streams(quick)}


def _passed(tweets: int, quick: bool) -> list[dict[str, Any]]:
    from whence.lineage.reduce import reduce

    batches = list(hashtag_trace(tweets))
    found = []
    for mode in MODES:
        watermark = 0.0 if mode == "exact" else None
        for strategy in STRATEGIES:
            for size in (1_000, 10_000) if quick else (5_000, 20_000, 80_000):
                made = reduce(
                    batches,
                    mode=mode,
                    partitions=_PARTITIONS,
                    strategy=strategy,  # type: ignore[arg-type]
                    local_batch=size,
                    attempts=True,
                    watermark=watermark,
                )
                flow = made.flow
                found.append(
                    {
                        "mode": mode,
                        "strategy": strategy,
                        "size": size,
                        "edges": flow.edges,
                        "local": flow.local_out,
                        "links": flow.global_out,
                    }
                )
    return found


def _streams(quick: bool) -> list[dict[str, Any]]:
    from whence.lineage.log import Topic, open_log
    from whence.lineage.partitioning import split
    from whence.lineage.streaming import reduce_stream, segments
    from whence.spark import session

    tweets = 5_000 if quick else 1_000_000
    spark = session("local[2]", **{"spark.driver.memory": "2g"})
    found = []
    try:
        with tempfile.TemporaryDirectory(prefix="whence-bench-") as folder:
            log = open_log(folder, sync=False)
            for name, partitions, size in (
                ("warm", 2, 3_000),
                ("one", 1, tweets),
                ("two", 2, tweets),
            ):
                log.create(Topic(name, partitions, attempts=True))
                for batch in hashtag_trace(size):
                    for partition, part in split(batch, "vertical", partitions):
                        log.append(name, partition, part)
                state = Path(folder, f"state-{name}")
                started = time.perf_counter()
                query = reduce_stream(
                    segments(spark, folder, name),
                    checkpoint=state,
                    partitions=partitions,
                    attempts=True,
                    watermark=1.0,
                    trigger={"availableNow": True},
                )
                query.awaitTermination()
                batches = time.perf_counter() - started
                links = query.reduced().num_rows
                whole = time.perf_counter() - started
                edges = query.keeper.committed.edges
                row = {"partitions": partitions, "edges": edges, "batches": batches}
                found.append({**row, "whole": whole, "links": links})
    finally:
        spark.stop()
    return found[1:]


def tell(found: dict[str, Any]) -> Told:
    """Edges passed on by strategy and batch size; edges a second on Spark."""
    passed = Table(
        f"Edges that {_PARTITIONS} local reducers pass on (the paper's figure 16)",
        ("mode", "strategy", "batch", "edges", "passed on", "links"),
        tuple(
            (
                row["mode"],
                row["strategy"],
                f"{row['size']:,}",
                f"{row['edges']:,}",
                f"{row['local']:,}",
                f"{row['links']:,}",
            )
            for row in found["passed"]
        ),
        left=2,
    )
    one, two = found["streams"]
    streams = Table(
        "Structured Streaming on local[2], from segments",
        ("partitions", "edges", "batches s", "k edges/s", "with the global reducer s"),
        tuple(
            (
                str(row["partitions"]),
                f"{row['edges']:,}",
                f"{row['batches']:.2f}",
                f"{row['edges'] / row['batches'] / 1e3:.0f}",
                f"{row['whole']:.2f}",
            )
            for row in found["streams"]
        ),
        notes=(f"two partitions are {one['batches'] / two['batches']:.2f} × as fast as one",),
    )
    right = one["links"] == two["links"]
    return Told((passed, streams), (), () if right else ("links differ",))


if __name__ == "__main__":
    pa.set_cpu_count(1)
    measured.tell(measure(json.loads(sys.argv[1])["quick"]))
