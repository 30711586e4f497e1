"""`whence.spark.evaluate`: programs over frames, and what is told when they do not fit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import whence.spark
from whence import DataError, LimitError, Limits, UsageError, WhenceError
from whence.engine.base import Round

pytestmark = pytest.mark.spark

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.input edge
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
EDGES = [(1, 2), (2, 3), (3, 1), (4, 5)]
PATHS = [(x, y) for x in (1, 2, 3) for y in (1, 2, 3)] + [(4, 5)]


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def code(error: pytest.ExceptionInfo[WhenceError]) -> str:
    return error.value.diagnostics[0].code


def test_frames_go_in_and_come_out(spark: Any) -> None:
    edge = spark.createDataFrame(EDGES, "x long, y long")
    with whence.spark.evaluate(spark, CLOSURE, {"edge": edge}) as found:
        assert list(found) == ["path"]
        assert rows(found["path"]) == PATHS
        assert found.size("path") == len(PATHS)
        assert found["path"].schema.simpleString() == "struct<x:bigint,y:bigint>"
        assert "path" in found.plan.groups[0].why
        assert repr(found) == "<Relations path: 10 tuples>"
        (group,) = found.stats.groups
        assert group.tuples == 10
        assert [task.tuples for task in group.tasks] != [10, 0]
        assert {task.worker for task in group.tasks} != {""}


def test_any_kind_of_rows_is_taken(spark: Any) -> None:
    import pandas
    import polars

    given = [
        EDGES,
        pa.table({"x": [x for x, _ in EDGES], "y": [y for _, y in EDGES]}),
        pandas.DataFrame(EDGES, columns=["x", "y"]),
        polars.DataFrame(EDGES, schema=["x", "y"], orient="row"),
    ]
    for edge in given:
        with whence.spark.evaluate(spark, CLOSURE, {"edge": edge}) as found:
            assert found.size("path") == len(PATHS)


def test_columns_are_found_by_the_names_of_attributes_else_by_their_order(spark: Any) -> None:
    swapped = spark.createDataFrame([(y, x) for x, y in EDGES], "y long, x long")
    other = spark.createDataFrame(EDGES, "source int, target short")
    for edge in (swapped, other):
        with whence.spark.evaluate(spark, CLOSURE, {"edge": edge}) as found:
            assert rows(found["path"]) == PATHS


KINDS = """
.type List = [head: symbol, tail: List]
.decl given(n: number, u: unsigned, f: float, s: symbol, r: List)
.decl out(n: number, u: unsigned, f: float, s: symbol, r: List)
.decl empty(x: number)
.decl some()
.decl none()
out(n, u, f, s, [s, r]) :- given(n, u, f, s, r).
empty(x) :- given(x, _, _, _, _), x = 100.
some() :- given(_, _, _, _, _).
none() :- empty(_).
"""


def test_values_of_every_kind_come_back_as_they_went_in(spark: Any) -> None:
    top = 2**64 - 1
    given = spark.createDataFrame(
        [
            (-(2**63), Decimal(top), -0.0, "a, b]", "nil"),
            (2**63 - 1, Decimal(0), float("inf"), '"\n\\', "[x,  nil]"),
            (0, Decimal(7), float("nan"), "", "[y,[z,nil]]"),
        ],
        "n long, u decimal(20,0), f double, s string, r string",
    )
    with whence.spark.evaluate(spark, KINDS, {"given": given}) as found:
        assert list(found) == ["out", "empty", "some", "none"]
        out = {row.n: row for row in found["out"].collect()}
        assert found["out"].dtypes == [
            ("n", "bigint"),
            ("u", "decimal(20,0)"),
            ("f", "double"),
            ("s", "string"),
            ("r", "string"),
        ]
        first, last, zero = out[-(2**63)], out[2**63 - 1], out[0]
        assert (first.u, str(first.f), first.s, first.r) == (top, "0.0", "a, b]", "[a, b], nil]")
        assert (last.u, last.f, last.s) == (0, float("inf"), '"\n\\')
        assert last.r == '["\n\\, [x, nil]]'
        assert (str(zero.f), zero.s, zero.r) == ("nan", "", "[, [y, [z, nil]]]")
        assert rows(found["empty"]) == []
        assert rows(found["some"]) == [(True,)]
        assert rows(found["none"]) == []


def test_a_chain_annotates_and_other_semirings_run_in_one_task(spark: Any) -> None:
    text = """
    .decl edge(x: number, y: number, @prov)
    .decl path(x: number, y: number, @prov)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
    """
    edge = spark.createDataFrame([(1, 2, 1.0), (2, 3, 1.5), (1, 3, 9.0)], "x int, y int, c double")
    with whence.spark.evaluate(spark, text, {"edge": edge}, semiring="tropical") as found:
        assert rows(found["path"]) == [(1, 2, 1.0), (1, 3, 2.5), (2, 3, 1.5)]
        assert found["path"].columns == ["x", "y", "@prov"]
    plain = edge.select("x", "y")
    with whence.spark.evaluate(spark, text, {"edge": plain}, semiring="counting") as found:
        assert rows(found["path"]) == [(1, 2, 1), (1, 3, 2), (2, 3, 1)]
        assert "one task" not in found.plan.groups[0].why
        assert found.plan.groups[0].strategy.value == "alone"
    with whence.spark.evaluate(spark, text, {"edge": plain}, semiring="why") as found:
        assert found.size("path") == 3
    with whence.spark.evaluate(spark, text, {"edge": edge}, semiring="plain") as found:
        assert rows(found["path"]) == [(1, 2), (1, 3), (2, 3)]


def test_functors_of_the_user_run_in_tasks(spark: Any) -> None:
    text = """
    .functor twice(x: number): number
    .decl n(x: number)
    .decl m(x: number)
    m(@twice(x)) :- n(x).
    """
    with whence.spark.evaluate(
        spark, text, {"n": [(1,), (2,)]}, functors={"twice": lambda x: 2 * x}
    ) as found:
        assert rows(found["m"]) == [(2,), (4,)]
    with pytest.raises(DataError) as error:
        whence.spark.evaluate(spark, text, {"n": [(0,)]}, functors={"twice": lambda x: 1 // x})
    assert code(error) == "W0701"
    assert "ZeroDivisionError" in str(error.value)
    with pytest.raises(DataError) as error:
        whence.spark.evaluate(spark, text, {"n": [(1,)]})
    assert code(error) == "W0706"
    lock = threading.Lock()
    with pytest.raises(UsageError) as refused:
        held = {"twice": lambda x: x + lock.locked()}
        whence.spark.evaluate(spark, text, {"n": [(1,)]}, functors=held)
    assert code(refused) == "W1026"


def wrong_frames(spark: Any) -> Iterator[tuple[str, Any]]:
    yield "W1021", spark.createDataFrame([(1, 2, 3)], "a long, b long, c long")
    yield "W1022", spark.sql("SELECT now() AS x, 1L AS y")
    yield "W1022", spark.sql("SELECT 1.5D AS x, 1L AS y")
    yield "W1022", spark.sql("SELECT NULL AS x, 1L AS y")
    yield "W1022", spark.sql("SELECT 1L AS x, '1' AS y")
    yield "W1024", spark.readStream.format("rate").load()


def test_a_schema_that_does_not_fit_is_refused_before_any_job(spark: Any) -> None:
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None).size()
    for wanted, frame in wrong_frames(spark):
        with pytest.raises(DataError) as error:
            whence.spark.evaluate(spark, CLOSURE, {"edge": frame})
        assert code(error) == wanted
    assert spark.sparkContext._jsc.sc().statusStore().jobsList(None).size() == jobs


def test_bad_rows_are_named_with_their_file(spark: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1, 2, None], "y": [2, 3, 4]}), tmp_path / "edge.parquet")
    with pytest.raises(DataError) as error:
        whence.spark.evaluate(spark, CLOSURE, {"edge": spark.read.parquet(str(tmp_path))})
    assert code(error) == "W1028"
    message = error.value.diagnostics[0].message
    assert message.startswith("row 3 of `file:")
    assert message.endswith("edge.parquet` is no fact of `edge`: `x` is no number")
    large = spark.sql("SELECT CAST(9223372036854775808 AS DECIMAL(20, 0)) AS x, 1L AS y")
    with pytest.raises(DataError) as error:
        whence.spark.evaluate(spark, CLOSURE, {"edge": large})
    assert code(error) == "W1028"
    assert error.value.diagnostics[0].notes == ("the row is (9223372036854775808, 1)",)


def test_mistakes_of_a_call_are_told_before_anything_runs(spark: Any) -> None:
    def refused(*args: Any, **options: Any) -> str:
        with pytest.raises(WhenceError) as error:
            whence.spark.evaluate(spark, *args, **options)
        return code(error)

    assert refused(CLOSURE, {"edg": EDGES}) == "W0804"
    assert refused(CLOSURE, {"edge": EDGES}, strategy="fast") == "W1023"
    assert refused(CLOSURE, {"edge": EDGES}, tasks=0) == "W1020"
    assert refused("path(x) :- edge(x).", {}) == "W0201"
    assert refused(7, {}) == "W0808"
    assert refused(CLOSURE, {"edge": [(1, "a")]}) == "W0654"
    assert refused(Path("nowhere.dl"), {}) == "W0802"
    with pytest.raises(UsageError) as error:
        whence.spark.evaluate(CLOSURE, {"edge": EDGES})  # type: ignore[arg-type]
    assert code(error) in ("W0808", "W1029")
    with pytest.raises(UsageError) as error:
        whence.spark.evaluate("spark", CLOSURE, {"edge": EDGES})  # type: ignore[arg-type]
    assert code(error) == "W1029"


def test_limits_hold_in_tasks(spark: Any) -> None:
    endless = ".decl n(x: number)  n(0).  n(x + 1) :- n(x), x < 1000000000."
    with pytest.raises(LimitError) as error:
        whence.spark.evaluate(spark, endless, limits=Limits(timeout=2.0))
    assert code(error) == "W0702"
    with pytest.raises(LimitError) as error:
        whence.spark.evaluate(spark, endless, limits=Limits(max_tuples=1000))
    assert code(error) == "W0704"
    edge = {"edge": EDGES}
    with whence.spark.evaluate(spark, CLOSURE, edge, limits=Limits(max_tuples=14)) as found:
        assert found.size("path") == 10
    with pytest.raises(LimitError):
        whence.spark.evaluate(spark, CLOSURE, edge, limits=Limits(max_tuples=13))


def test_a_failure_of_sparks_is_told_in_a_line(spark: Any) -> None:
    edge = spark.sql("SELECT raise_error('broken source') AS x, 1L AS y").selectExpr(
        "CAST(x AS LONG) AS x", "y"
    )
    with pytest.raises(UsageError) as error:
        whence.spark.evaluate(spark, CLOSURE, {"edge": edge})
    assert code(error) == "W1025"
    assert any("broken source" in note for note in error.value.diagnostics[0].notes)
    assert not any("\n" in note for note in error.value.diagnostics[0].notes)


def test_an_observer_is_told_of_groups(spark: Any) -> None:
    class Watching:
        seen: list[Round]

        def on_round(self, event: Round) -> None:
            self.seen.append(event)

    watching = Watching()
    watching.seen = []
    whence.spark.evaluate(spark, CLOSURE, {"edge": EDGES}, observer=watching).close()
    assert [event.relations for event in watching.seen] == [("path",)]
    assert watching.seen[-1].total_tuples == len(EDGES) + len(PATHS)


def test_what_an_evaluation_takes_goes_when_it_is_closed(spark: Any) -> None:
    def persisted() -> int:
        return int(spark.sparkContext._jsc.getPersistentRDDs().size())

    before = persisted()
    found = whence.spark.evaluate(spark, CLOSURE, {"edge": EDGES})
    assert persisted() == before + 1
    found.close()
    found.close()
    assert persisted() == before
