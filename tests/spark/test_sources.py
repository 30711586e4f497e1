"""Relations too large for the driver: packed where they are, moved by a shuffle, read by tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from contract.both import assert_same
from contract.cases import CASES
from contract.test_contract import compiled, inputs
from whence.engine.local.engine import LocalEngine
from whence.engine.spark import shuffle, sources
from whence.engine.spark.engine import SparkEngine
from whence.engine.spark.frames import as_spark
from whence.engine.spark.sources import FrameInput
from whence.session import compile, evaluate, parse

pytestmark = pytest.mark.spark

NAMES = [
    "closure_by_halves",
    "mutual_recursion_with_columns_that_change_places",
    "negation_between_recursions",
    "disjunction_wildcards_and_several_heads",
    "relations_without_columns",
    "symbols_of_any_text",
    "records_in_inputs",
    "unsigned_numbers_partition_and_compare_as_such",
    "floats_have_one_zero_and_one_nan",
]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be small enough for the driver, and blobs be many."""
    monkeypatch.setattr(sources, "SMALL_BYTES", -1)
    monkeypatch.setattr(sources, "BROADCAST_BYTES", -1)
    monkeypatch.setattr(shuffle, "FEW_BYTES", -1)


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", NAMES)
def test_large_frames_give_what_small_tables_give(name: str, spark: Any) -> None:
    case = next(c for c in CASES if c.name == name)
    plan, tables = compiled(name).plan, inputs(case)
    expected = LocalEngine().evaluate(plan, tables)
    frames = {
        n: FrameInput(spark.createDataFrame(as_spark(t)).repartition(4)) for n, t in tables.items()
    }
    with SparkEngine(spark, tasks=3).evaluate(plan, frames) as found:
        names = [d.name for d in plan.program.relations if not d.name.startswith("@")]
        assert_same(expected, found, names)
        for relation in names:
            assert found.frame(relation).count() == expected.size(relation), relation
        moved = sum(group.shuffled_rows for group in found.stats.groups)
        broadcast = sum(group.broadcast_bytes for group in found.stats.groups)
        assert moved or broadcast
        assert all(len(group.tasks) in (1, 2, 3) for group in found.stats.groups)


@pytest.mark.usefixtures("tiny")
def test_every_task_has_its_share_and_no_more(spark: Any) -> None:
    text = ".decl e(x: number, y: number)\n.decl p(x: number, y: number)\np(x, y + 1) :- e(x, y)."
    plan = compile(parse(text), keep_all=True).plan
    rows = np.arange(2000)
    frame = spark.createDataFrame(pa.table({"x": rows, "y": rows % 7}))
    with SparkEngine(spark, tasks=5).evaluate(plan, {"e": FrameInput(frame)}) as found:
        (group,) = found.stats.groups
        read = [sum(rows for rows, _ in task.read.values()) for task in group.tasks]
        assert group.shuffled_rows == sum(read) == 2000
        assert len(read) == 5
        assert min(read) > 300
        assert found.size("p") == 2000


@pytest.mark.usefixtures("tiny")
def test_a_mistake_in_a_large_frame_is_told(spark: Any) -> None:
    import whence.spark
    from whence import DataError

    text = ".decl e(x: number)\n.decl p(x: number)\np(x + 1) :- e(x)."
    frame = spark.createDataFrame([(1,), (None,), (3,)], "x long").repartition(3)
    with pytest.raises(DataError) as error:
        whence.spark.evaluate(spark, text, {"e": frame})
    assert error.value.diagnostics[0].code == "W1028"
    assert error.value.diagnostics[0].notes == ("the row is (null)",)


def test_sessions_evaluate_on_spark(spark: Any) -> None:
    text = """
    .decl e(x: symbol, y: symbol, @prov)
    .decl p(x: symbol, y: symbol, @prov)
    p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).
    """
    tables = {"e": pa.table({"x": ["a", "b"], "y": ["b", "c"], "@prov": [1.0, 2.0]})}
    bare = {"e": tables["e"].select(["x", "y"])}
    for semiring, given in [("plain", tables), ("tropical", tables), ("why", bare)]:
        one = evaluate(parse(text), given, semiring=semiring)
        other = evaluate(parse(text), given, semiring=semiring, engine="spark")
        assert_same(one, other, ["p"])
