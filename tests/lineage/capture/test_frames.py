"""Lineage of each operator of frames is what the operator means, row by row."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lineage.capture.captured import Rows, expected, rows_of
from lineage.capture.operators import CASES, LEFT, RIGHT, Made
from whence.lineage.capture.tracer import Tracer

pytestmark = pytest.mark.spark


def captured(tracing: Callable[..., Tracer], made: Made) -> Rows:
    tracer = tracing()
    spark = tracer.spark
    left = spark.createDataFrame(LEFT, "id long, k long, tags array<string>").repartition(2)
    right = spark.createDataFrame(RIGHT, "k long, v long")
    frame = made(tracer.frame(left, "left", key="id"), tracer.frame(right, "right", key="v"))
    return rows_of(tracer, frame.collect(), {"left", "right"})


@pytest.mark.parametrize("name", CASES)
def test_rows_come_from_what_the_operator_took(tracing: Callable[..., Tracer], name: str) -> None:
    made, meant = CASES[name]
    assert captured(tracing, made) == expected(meant())


def test_a_count_comes_from_all_rows(tracing: Callable[..., Tracer]) -> None:
    tracer = tracing()
    assert tracer.frame(tracer.spark.range(5), "in", key="id").filter("id > 1").count() == 3
    inputs = [("in", n) for n in (2, 3, 4)]
    assert rows_of(tracer, [0], {"in"}) == expected([(0, inputs)])


def test_nulls_in_keys_are_keys_of_their_own(tracing: Callable[..., Tracer]) -> None:
    tracer = tracing()
    rows = [(0, None, "a"), (1, "a", None), (2, None, "a"), (3, None, None)]
    frame = tracer.spark.createDataFrame(rows, "id long, x string, y string")
    found = tracer.frame(frame, "in", key="id").groupBy("x", "y").count().collect()
    meant = [((None, "a", 2), (0, 2)), (("a", None, 1), (1,)), ((None, None, 1), (3,))]
    told = [(row, [("in", n) for n in inputs]) for row, inputs in meant]
    assert rows_of(tracer, found, {"in"}) == expected(told)
