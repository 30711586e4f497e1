"""Random pipelines of both APIs have the lineage that their meaning gives, row by row."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.capture.captured import Name, expected, rows_of
from whence.lineage.capture.tracer import Tracer, trace

pytestmark = pytest.mark.spark

EXAMPLES = int(os.environ.get("WHENCE_EXAMPLES", "4"))
STEPS = ("filter", "map", "repeat", "group", "distinct", "union", "join", "sort")
SOURCE = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8)
OTHER = ((0, 7), (1, 8), (1, 9), (3, 6))
Row = tuple[int, int]
Meant = list[tuple[Row, frozenset[Name]]]

_jobs = itertools.count(1)


def meant(step: str, rows: Meant) -> Meant:
    """What a step does to rows with their lineage, by definition."""
    if step == "filter":
        return [(row, why) for row, why in rows if (row[0] + row[1]) % 3]
    if step == "map":
        return [((k, k + v), why) for (k, v), why in rows]
    if step == "repeat":
        return [((n, v), why) for (k, v), why in rows for n in range(k % 3)]
    if step == "group":
        keys = sorted({k for (k, _), _ in rows})
        of_key = {key: [(v, why) for (k, v), why in rows if k == key] for key in keys}
        return [
            ((key, sum(v for v, _ in group)), frozenset().union(*(why for _, why in group)))
            for key, group in of_key.items()
        ]
    if step == "distinct":
        return [
            (row, frozenset().union(*(why for same, why in rows if same == row)))
            for row in sorted({row for row, _ in rows})
        ]
    if step == "union":
        return [*rows, *rows]
    if step == "join":
        return [
            ((k, v + w), why | {("other", w)})
            for (k, v), why in rows
            for key, w in OTHER
            if key == k
        ]
    return rows


def on_frames(step: str, frame: Any, other: Any) -> Any:
    from pyspark.sql import functions as F

    match step:
        case "filter":
            return frame.filter("(k + v) % 3 != 0")
        case "map":
            return frame.withColumn("v", F.col("k") + F.col("v"))
        case "repeat":
            numbers = F.expr("filter(sequence(0L, 3L), x -> x < k % 3)")
            return frame.select(F.explode(numbers).alias("k"), "v")
        case "group":
            return frame.groupBy("k").agg(F.sum("v").alias("v"))
        case "distinct":
            return frame.distinct()
        case "union":
            return frame.union(frame)
        case "join":
            return frame.join(other, "k").select("k", (F.col("v") + F.col("w")).alias("v"))
        case _:
            return frame.orderBy("v", "k")


def on_rdds(step: str, rdd: Any, other: Any) -> Any:
    match step:
        case "filter":
            return rdd.filter(lambda row: (row[0] + row[1]) % 3)
        case "map":
            return rdd.map(lambda row: (row[0], row[0] + row[1]))
        case "repeat":
            return rdd.flatMap(lambda row: [(n, row[1]) for n in range(row[0] % 3)])
        case "group":
            return rdd.reduceByKey(lambda one, two: one + two, 2)
        case "distinct":
            return rdd.distinct(2)
        case "union":
            return rdd.union(rdd)
        case "join":
            return rdd.join(other, 2).map(lambda row: (row[0], sum(row[1])))
        case _:
            return rdd.sortBy(lambda row: (row[1], row[0]), True, 2)


def tracer_of(spark: Any, folder: Path) -> Tracer:
    made = trace(spark, workflow="random", job=f"job{next(_jobs)}", log=folder / "log")
    assert isinstance(made, Tracer)
    return made


def outcome(rows: list[Row], steps: list[str]) -> Meant:
    found: Meant = [(row, frozenset({("in", n)})) for n, row in enumerate(rows)]
    for step in steps:
        found = meant(step, found)
    return found


@pytest.mark.parametrize("api", ["frames", "rdds"])
def test_random_pipelines_have_the_lineage_of_their_meaning(
    spark: Any, few_partitions: None, tmp_path: Path, api: str
) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(SOURCE, st.lists(st.sampled_from(STEPS), min_size=1, max_size=4))
    def check(rows: list[Row], steps: list[str]) -> None:
        tracer = tracer_of(spark, tmp_path)
        apply: Callable[[str, Any, Any], Any]
        if api == "frames":
            numbered = [(n, *row) for n, row in enumerate(rows)]
            source = spark.createDataFrame(numbered, "n long, k long, v long").repartition(2)
            right = spark.createDataFrame(list(OTHER), "k long, w long")
            found = tracer.frame(source, "in", key="n").select("k", "v")
            other, apply = tracer.frame(right, "other", key="w"), on_frames
        else:
            found = tracer.parallelize(rows, 1, name="in")
            numbered_right = tracer.spark.createDataFrame(list(OTHER), "k long, w long")
            other = tracer.frame(numbered_right, "other", key="w").rdd.map(tuple)
            apply = on_rdds
        for step in steps:
            found = apply(step, found, other)
        given_back = [tuple(row) for row in found.collect()]
        assert rows_of(tracer, given_back, {"in", "other"}) == expected(outcome(rows, steps))

    check()
