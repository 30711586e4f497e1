"""A sample is told as the whole lineage would be, of the inputs that are in it alone."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.capture import operators, test_random
from lineage.capture.captured import Name, edges, expected, inputs_of
from lineage.capture.test_mishaps import repeated
from whence.diagnostics import WhenceError
from whence.lineage.capture import tracer as tracing_module
from whence.lineage.capture.tracer import Tracer, trace

pytestmark = pytest.mark.spark

EXAMPLES = int(os.environ.get("WHENCE_EXAMPLES", "4"))
SHARE = 0.5
_jobs = itertools.count(1)


@pytest.fixture(autouse=True, scope="module")
def noted_in_the_jvm() -> Iterator[None]:
    """Let samples of any share go the way of small ones, since data is small here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracing_module, "FEW", 0.99)
        yield


@pytest.fixture(scope="module")
def sampled(spark: Any) -> frozenset[int]:
    """Which of the first numbers are in the sample."""
    share = f"shiftrightunsigned(xxhash64(id), 33) < {int(SHARE * 2**31)}"
    found = frozenset(row[0] for row in spark.range(100).filter(share).collect())
    assert 30 < len(found) < 70
    return found


def of_sample(names: Any, sampled: frozenset[int]) -> frozenset[Name]:
    return frozenset(name for name in names if name[1] in sampled)


# Those that need no tap of their own are told by the random pipelines below.
CASES = [
    *("explode and group", "group of groups", "window", "dropDuplicates", "full", "semi"),
    *("semi by a condition", "intersect", "with itself", "applyInPandas", "mapInPandas"),
]


@pytest.mark.parametrize("name", CASES)
def test_rows_come_from_what_the_operator_took_of_the_sample(
    tracing: Callable[..., Tracer], sampled: frozenset[int], name: str
) -> None:
    made, meant = operators.CASES[name]
    tracer = tracing(sample=SHARE)
    left = tracer.spark.createDataFrame(operators.LEFT, "id long, k long, tags array<string>")
    right = tracer.spark.createDataFrame(operators.RIGHT, "k long, v long")
    made(
        tracer.frame(left.repartition(2), "left", key="id"), tracer.frame(right, "right", key="v")
    ).collect()
    found = edges(tracer)
    reached = inputs_of(found, {"left", "right"})
    told = Counter(inputs for entity, inputs in reached.items() if entity[0].endswith("/row"))
    restricted = [of_sample(inputs, sampled) for _, inputs in meant()]
    assert told == Counter(inputs for inputs in restricted if inputs)
    assert repeated(found) == []


def written(spark: Any, folder: Path, rows: list[test_random.Row], steps: list[str]) -> Any:
    """Write what a random pipeline gives, with row numbers; return its tracer and the rows."""
    job, parts = f"job{next(_jobs)}", 1 + len(rows) % 3
    tracer = trace(spark, workflow="sampled", job=job, log=folder / "log", sample=SHARE)
    assert isinstance(tracer, Tracer)
    numbered = [(n, *row) for n, row in enumerate(rows)]
    source = spark.createDataFrame(numbered, "n long, k long, v long").repartition(parts)
    right = spark.createDataFrame(list(test_random.OTHER), "k long, w long")
    found = tracer.frame(source, "in", key="n").select("k", "v")
    other = tracer.frame(right, "other", key="w")
    for step in steps:
        found = test_random.on_frames(step, found, other)
    out = str(folder / job)
    found.write.option("whence.ids", "number").parquet(out)
    return tracer, job, spark.read.parquet(out).collect()


def test_random_pipelines_have_the_lineage_of_their_meaning_in_the_sample(
    spark: Any, few_partitions: None, tmp_path: Path, sampled: frozenset[int]
) -> None:
    steps = st.lists(st.sampled_from(test_random.STEPS), min_size=1, max_size=4)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(test_random.SOURCE, steps)
    def check(rows: list[test_random.Row], steps: list[str]) -> None:
        tracer, name, found = written(spark, tmp_path, rows, steps)
        reached = inputs_of(edges(tracer), {"in", "other"})
        told = [((row.k, row.v), reached.get((name, row.number), ())) for row in found]
        meant = test_random.outcome(rows, steps)
        assert expected(told) == expected(
            (row, of_sample(inputs, sampled)) for row, inputs in meant
        )
        assert repeated(edges(tracer)) == []

    check()


def counted(tracer: Tracer, parts: int) -> Any:
    frame = tracer.frame(tracer.spark.range(60).repartition(parts), "in", key="id")
    return frame.selectExpr("id % 7 as k", "id").groupBy("k").count()


def test_the_same_rows_are_followed_whatever_the_partitions(tracing: Callable[..., Tracer]) -> None:
    found = []
    for parts in (1, 5):
        tracer = tracing(sample=SHARE)
        counted(tracer, parts).collect()
        reached = inputs_of(edges(tracer), {"in"})
        found.append({inputs for name, inputs in reached.items() if name[0].endswith("/row")})
    assert found[0] == found[1]
    assert len(found[0]) == 7


def test_what_a_first_action_told_is_not_told_by_the_next(tracing: Callable[..., Tracer]) -> None:
    tracer = tracing(sample=SHARE)
    frame = counted(tracer, 2)
    frame.collect()
    groups = [edge for edge in edges(tracer) if edge.source[0].endswith("/combine")]
    frame.collect()
    again = [edge for edge in edges(tracer) if edge.source[0].endswith("/combine")]
    assert again == groups != []
    assert repeated(edges(tracer)) == []


def test_what_is_kept_is_told_once(tracing: Callable[..., Tracer]) -> None:
    tracer = tracing(sample=SHARE)
    kept = counted(tracer, 2).cache()
    for row in kept.take(2):
        assert row["count"] in (8, 9)
    whole = kept.collect()
    kept.unpersist()
    assert len(whole) == 7
    assert repeated(edges(tracer)) == []
    reached = inputs_of(edges(tracer), {"in"})
    rows = [n for n in reached if n[0].endswith("/row") and "collect" in n[0]]
    assert len(rows) == 7


def test_an_action_that_fails_tells_nothing_of_a_sample(tracing: Callable[..., Tracer]) -> None:
    from pyspark.sql import functions as F

    tracer = tracing(sample=SHARE)
    frame = counted(tracer, 2)
    failing = frame.withColumn("x", F.when(F.col("k") == 3, F.raise_error(F.lit("on purpose"))))
    with pytest.raises(Exception, match="on purpose"):
        failing.collect()
    assert edges(tracer) == []
    frame.collect()
    assert repeated(edges(tracer)) == []
    assert edges(tracer) != []


@pytest.mark.parametrize("strategy", ["vertical", "horizontal"])
def test_a_sample_goes_to_all_partitions_and_no_execution_is_split(
    tracing: Callable[..., Tracer], strategy: str
) -> None:
    tracer = tracing(sample=SHARE, partitions=2, strategy=strategy)
    counted(tracer, 4).collect()
    homes: dict[object, set[int]] = {}
    for partition in range(2):
        for _, batch in tracer.log.read(tracer.topic, partition):
            kinds = batch["kind"].to_pylist()
            spaces, numbers = batch["source_space"].to_pylist(), batch["source"].to_pylist()
            for kind, space, number in zip(kinds, spaces, numbers, strict=True):
                if kind in (0, 4):
                    homes.setdefault((space, number), set()).add(partition)
    assert {place for places in homes.values() for place in places} == {0, 1}
    assert all(len(places) == 1 for places in homes.values())


def test_rows_of_the_driver_are_told_though_spark_computes_them_while_it_plans(
    tracing: Callable[..., Tracer], sampled: frozenset[int]
) -> None:
    tracer = tracing(sample=SHARE)
    text = "select * from values (1L, 1L), (2L, 1L), (3L, 2L), (4L, 2L) as t(n, k)"
    frame = tracer.frame(tracer.spark.sql(text), "in", key="n")
    frame.groupBy("k").count().collect()
    reached = inputs_of(edges(tracer), {"in"})
    told = {inputs for name, inputs in reached.items() if name[0].endswith("/row")}
    meant = {of_sample((("in", n) for n in pair), sampled) for pair in ((1, 2), (3, 4))}
    assert told == {inputs for inputs in meant if inputs}


def test_an_aggregation_in_python_of_a_sample_is_refused(tracing: Callable[..., Tracer]) -> None:
    tracer = tracing(sample=SHARE)
    frame = tracer.frame(tracer.spark.range(4), "left", key="id").selectExpr("id", "id % 2 as k")
    with pytest.raises(WhenceError, match="W1170"):
        operators.mean_in_pandas(frame, None)
