"""Outputs of one job are inputs of the next, row by row; what cannot be traced is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.capture.captured import edges, inputs_of, rows_of
from whence.diagnostics import WhenceError
from whence.lineage.capture.tracer import Tracer, trace
from whence.lineage.reduce import reduce
from whence.lineage.reduced import pairs_of

pytestmark = pytest.mark.spark


def written(tracer: Tracer, path: Path, form: str, **options: str) -> dict[Any, Any]:
    """Write each number with how often it occurs; return the inputs of each."""
    numbers = tracer.spark.range(40, numPartitions=3)
    frame = tracer.frame(numbers, "in", key="id").selectExpr("id % 7 as k")
    counted = frame.groupBy("k").count().repartition(3).selectExpr("cast(k as string) as k")
    writer = counted.write
    for key, value in options.items():
        writer = writer.option(key.replace("_", "."), value)
    writer.save(str(path), form)
    return {str(k): {("in", n) for n in range(40) if n % 7 == k} for k in range(7)}


@pytest.mark.parametrize(
    ("form", "column"), [("parquet", False), ("csv", False), ("text", False), ("parquet", True)]
)
def test_rows_are_known_by_the_same_numbers_in_the_next_job(
    tracing: Callable[..., Tracer], tmp_path: Path, form: str, column: bool
) -> None:
    path = tmp_path / "out"
    first, second = tracing(), tracing()
    meant = written(first, path, form, **({"whence_ids": "row"} if column else {}))
    there = inputs_of(edges(first), {"in"})
    rows = second.read.load(str(path), form).toDF(*(["k", "row"] if column else ["k"]))
    kept = rows.filter("k > 2").collect()
    found = rows_of(second, kept, {"out"})
    assert len(kept) == 4
    for (row, inputs), times in found.items():
        assert times == 1
        (origin,) = inputs
        assert there[origin] == meant[row[0]]


def test_lines_of_an_rdd_are_known_in_the_next_job(
    tracing: Callable[..., Tracer], tmp_path: Path
) -> None:
    first, second = tracing(), tracing()
    first.parallelize(range(9), 2, name="in").flatMap(lambda n: [n] * (n % 3)).saveAsTextFile(
        str(tmp_path / "out")
    )
    there = inputs_of(edges(first), {"in"})
    lines = second.textFile(str(tmp_path / "out")).map(int).collect()
    for (line, inputs), times in rows_of(second, lines, {"out"}).items():
        (origin,) = inputs
        ((_, number),) = there[origin]
        position = number if number < 1 << 33 else number - (1 << 33) + 4
        assert (line, times) == (position, 1)


def test_rows_of_files_are_numbered_alike_in_two_jobs(
    tracing: Callable[..., Tracer], tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("".join(f"{n}\n" for n in range(20)))
    found = []
    for _ in range(2):
        tracer = tracing()
        rows = tracer.read.csv(str(tmp_path / "in.csv")).collect()
        found.append(rows_of(tracer, rows, {"in"}))
    assert found[0] == found[1]
    assert len(found[0]) == 20


def test_a_sample_follows_some_inputs_and_all_that_comes_of_them(
    tracing: Callable[..., Tracer],
) -> None:
    whole, part = tracing(), tracing(sample=0.2)
    outputs = []
    for tracer in (whole, part):
        frame = tracer.frame(tracer.spark.range(200), "in", key="id").selectExpr("id % 50 as k")
        outputs.append(sorted(frame.groupBy("k").count().collect()))
    assert outputs[0] == outputs[1]
    reached = inputs_of(edges(part), {"in"})
    sampled = {name for inputs in reached.values() for name in inputs}
    assert 10 < len(sampled) < 90
    rows = [inputs for name, inputs in reached.items() if name[0].endswith("/row")]
    assert sum(map(len, rows)) == len(sampled)
    assert len(edges(part)) < len(edges(whole)) * 0.7


def test_an_rdd_is_sampled_too(tracing: Callable[..., Tracer]) -> None:
    tracer = tracing(sample=0.2)
    pairs = tracer.parallelize(range(200), 2, name="in").map(lambda n: (n % 50, 1))
    assert len(pairs.reduceByKey(lambda one, two: one + two).collect()) == 50
    reached = inputs_of(edges(tracer), {"in"})
    rows = [inputs for name, inputs in reached.items() if name[0].endswith("/row")]
    assert 10 < sum(map(len, rows)) < 90
    assert all(rows)


def test_switched_off_everything_is_sparks_own(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import DataFrame

    off = trace(spark, workflow="w", job="j", log=tmp_path / "log", enabled=False)
    frame = spark.range(3)
    assert off.frame(frame, "in") is frame
    assert isinstance(off.read, type(spark.read))
    assert type(off.range(2)) is DataFrame or isinstance(off.range(2), DataFrame)
    assert not (tmp_path / "log").exists()


def test_groups_that_nothing_came_of_are_no_outputs(tracing: Callable[..., Tracer]) -> None:
    tracer = tracing()
    frame = tracer.frame(tracer.spark.range(20), "in", key="id").selectExpr("id % 5 as k")
    kept = frame.groupBy("k").count().filter("k < 2").collect()
    parts = range(tracer.log.topic(tracer.topic).partitions)
    batches = [b for part in parts for _, b in tracer.log.read(tracer.topic, part)]
    pairs = pairs_of(reduce(batches, attempts=True).table)
    assert len(kept) == 2
    assert {space.endswith("/row") for (space, _), _ in pairs} == {True}
    assert len({output for output, _ in pairs}) == 2
    assert {number % 5 for _, (_, number) in pairs} == {0, 1}


def test_an_element_of_several_lines_is_told_as_such(
    tracing: Callable[..., Tracer], tmp_path: Path
) -> None:
    tracer = tracing()
    with pytest.raises(WhenceError) as error:
        tracer.parallelize(["a", "b\nc"], 1, name="in").saveAsTextFile(str(tmp_path / "out"))
    (told,) = error.value.diagnostics
    assert told.code == "W1179"
    assert told.message.endswith(r"'b\nc'")


def test_an_action_that_fails_tells_nothing(tracing: Callable[..., Tracer]) -> None:
    tracer = tracing()

    def fail(value: int) -> int:
        if value == 7:
            raise ValueError(value)
        return value

    rdd = tracer.parallelize(range(8), 2, name="in").map(fail)
    with pytest.raises(Exception, match="7"):
        rdd.collect()
    assert edges(tracer) == []


REFUSED: dict[str, tuple[str, Callable[[Any, Any], object]]] = {
    "intersectAll": ("W1170", lambda t, f: f.intersectAll(f)),
    "rollup": ("W1170", lambda t, f: f.rollup("id")),
    "sql": ("W1170", lambda t, f: t.sql("select 1")),
    "star inside": ("W1170", lambda t, f: f.select(_struct())),
    "pivot": ("W1170", lambda t, f: f.groupBy("id").pivot("id")),
    "append": ("W1170", lambda t, f: f.write.mode("append").parquet("nowhere")),
    "jdbc": ("W1170", lambda t, f: t.read.jdbc("url", "table")),
    "saveAsTable": ("W1170", lambda t, f: f.write.saveAsTable("t")),
    "foreign": ("W1172", lambda t, f: f.join(t.spark.range(2), "id")),
    "partitionBy": ("W1174", lambda t, f: f.write.partitionBy("id").parquet("nowhere")),
    "reserved": ("W1175", lambda t, f: f.withColumn("__whence_9", f.id)),
    "no key": ("W1178", lambda t, f: t.frame(t.spark.range(2), "x", key="nothing")),
    "rdd": ("W1170", lambda t, f: f.rdd.zipWithIndex()),
}


def _struct() -> Any:
    from pyspark.sql import functions as F

    return F.struct("*")


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_traced_is_refused_by_name(tracing: Callable[..., Tracer], name: str) -> None:
    code, ask = REFUSED[name]
    tracer = tracing()
    frame = tracer.frame(tracer.spark.range(3), "in", key="id")
    with pytest.raises(WhenceError, match=code):
        ask(tracer, frame)


def test_bad_options_are_refused(spark: Any, tmp_path: Path) -> None:
    for code, options in (
        ("W1171", {"sample": 0}),
        ("W1171", {"sample": 1.5}),
        ("W1176", {"job": "a/b"}),
        ("W1176", {"workflow": ""}),
    ):
        given = {"workflow": "w", "job": "j", "log": tmp_path / "log", **options}
        with pytest.raises(WhenceError, match=code):
            trace(spark, **given)


def test_a_damaged_mark_is_told(tracing: Callable[..., Tracer], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-0.csv").write_text("1\n")
    (tmp_path / "out" / "_whence.json").write_text("{")
    with pytest.raises(WhenceError, match="W1177"):
        tracing().read.csv(str(tmp_path / "out"))


def test_a_name_that_an_earlier_job_did_not_give_is_refused(
    tracing: Callable[..., Tracer], tmp_path: Path
) -> None:
    path = str(tmp_path / "out")
    first = tracing()
    first.frame(first.spark.range(2), "in", key="id").write.parquet(path)
    with pytest.raises(WhenceError, match="W1173"):
        tracing(names={path: "other"}).read.parquet(path)
