"""A driver whose tasks fail on their first attempt and whose shuffle files get lost.

Run with a folder: prints what was collected and where the log is, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from whence.engine.spark.session import session
from whence.lineage.capture.tracer import Tracer, trace


def first_attempt_of_partition(partition: int) -> bool:
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    return task.partitionId() == partition and task.attemptNumber() == 0


def fail_at_first(tracer: Tracer) -> list[Any]:
    """Fail in the map tasks, after their taps have seen rows, and in those of the result."""

    def whole(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        if first_attempt_of_partition(1):
            raise ValueError("on purpose")

    rows = tracer.frame(tracer.spark.range(40, numPartitions=3), "in", key="id")
    keyed = rows.mapInArrow(whole, "id long").selectExpr("id % 5 as k")
    return (
        keyed.groupBy("k").count().repartition(2).mapInArrow(whole, "k long, count long").collect()
    )


def fail_in_rdds(tracer: Tracer) -> list[Any]:
    """Fail at the last element of a partition, at both sides of a shuffle."""

    def check(pair: Any) -> Any:
        if first_attempt_of_partition(1) and pair[1] in (39, 1):
            raise ValueError("on purpose")
        return pair

    pairs = tracer.parallelize(range(40), 2, name="in").map(lambda n: (n % 5, n)).map(check)
    return list(pairs.mapValues(lambda n: 1).reduceByKey(lambda a, b: a + b, 2).collect())


def lose_a_shuffle(tracer: Tracer, local: Path) -> list[Any]:
    """Collect twice; in between the files of all shuffles go, so their tasks run again."""
    pairs = tracer.parallelize(range(40), 2, name="in").map(lambda n: (n % 5, n))
    reduced = pairs.sortBy(lambda pair: -pair[1]).reduceByKey(lambda a, b: a + b, 2)
    first = reduced.collect()
    lost = list(local.rglob("shuffle_*"))
    for path in lost:
        path.unlink()
    assert lost
    return [*first, *reduced.collect()]


def main(folder: Path) -> None:
    local = folder / "local"
    spark = session("local[2,4]", **{"spark.local.dir": str(local), "spark.driver.memory": "1g"})
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    found = {}
    for job in ("frames", "rdds", "lost"):
        tracer = trace(spark, workflow="w", job=job, log=folder / "log")
        assert isinstance(tracer, Tracer)
        if job == "frames":
            rows = [list(row) for row in fail_at_first(tracer)]
        elif job == "rdds":
            rows = [list(row) for row in fail_in_rdds(tracer)]
        else:
            rows = [list(row) for row in lose_a_shuffle(tracer, local)]
        found[job] = rows
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
