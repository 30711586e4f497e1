"""The reducer on Structured Streaming over one partition and two, from segments of a log."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from experiments.lineage.partition import edges_in, line_bytes
from experiments.lineage.trace import Job, trace
from whence.lineage.reduced import flatten

PARTITIONS: Final = (1, 2)


def measure(job: Job, runs: int, folder: Path, session: Any = None) -> list[dict[str, Any]]:
    """Reduce so often, in turns, after one run that counts not; on `local[2]` if none is given."""
    from whence.lineage.log import Topic, open_log
    from whence.lineage.partitioning import split
    from whence.spark import session as start

    spark = session or start("local[2]", **{"spark.driver.memory": "2g"})
    log = open_log(folder, sync=False)
    size = 0
    shares = {count: [0] * count for count in PARTITIONS}
    try:
        for count in PARTITIONS:
            log.create(Topic(f"job{count}", count, attempts=True))
        for batch in trace(job):
            size += line_bytes(batch)
            for count in PARTITIONS:
                for partition, part in split(batch, "vertical", count):
                    log.append(f"job{count}", partition, part)
                    shares[count][partition] += edges_in(part)
        turns = [(turn, count) for turn in range(runs + 1) for count in PARTITIONS]
        found = [_reduce(spark, folder, count, turn) for turn, count in turns]
    finally:
        if session is None:
            spark.stop()
    return [
        {**row, "bytes": size, "largest": max(shares[row["partitions"]])}
        for row in found[len(PARTITIONS) :]
    ]


def _reduce(spark: Any, folder: Path, count: int, turn: int) -> dict[str, Any]:
    from whence.lineage.streaming import reduce_stream, segments

    started = time.perf_counter()
    query = reduce_stream(
        segments(spark, folder, f"job{count}"),
        checkpoint=folder.parent / f"state-{count}-{turn}",
        partitions=count,
        attempts=True,
        watermark=1.0,
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    seconds = time.perf_counter() - started
    reduced = query.reduced()
    return {
        "system": "Structured Streaming",
        "partitions": count,
        "seconds": seconds,
        "slowest": 0.0,
        "behind": 0.0,
        "whole": time.perf_counter() - started,
        "edges": query.keeper.committed.edges,
        "pairs": flatten(reduced).num_rows,
    }
