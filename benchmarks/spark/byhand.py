"""Closure as a loop over frames, as one would write it by hand: join, distinct, anti-join, keep."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COMPACT: Final = 8
"""After so many rounds the union of all deltas becomes one frame: its plan grows."""


def closure_by_hand(
    spark: SparkSession, edges: DataFrame, partitions: int
) -> tuple[int, list[float]]:
    """Return the size of the closure and the seconds of each round."""
    from pyspark.sql import functions as F

    settings = {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.adaptive.enabled": "false",
    }
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        edge = edges.toDF("x", "y").distinct().localCheckpoint()
        step = edge.select(F.col("x").alias("y"), F.col("y").alias("z"))
        known = delta = edge
        rounds: list[float] = []
        while True:
            begun = time.perf_counter()
            derived = delta.join(step, "y").select("x", F.col("z").alias("y")).distinct()
            delta = derived.join(known, ["x", "y"], "left_anti").localCheckpoint()
            new = delta.count()
            if new:
                known = known.union(delta)
                if len(rounds) % COMPACT == COMPACT - 1:
                    known = known.localCheckpoint()
            rounds.append(time.perf_counter() - begun)
            if not new:
                return known.count(), rounds
    finally:
        for key, was in before.items():
            spark.conf.set(key, was)
