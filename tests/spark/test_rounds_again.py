"""Rounds begin anew when Spark has lost rows that it kept, as with an executor that dies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import pyarrow as pa
import pytest

from whence.diagnostics import UsageError
from whence.engine.base import Round
from whence.engine.spark.engine import SparkEngine
from whence.engine.spark.model import Strategy
from whence.rows import tuples_of
from whence.session import compile, parse

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CLOSURE = compile(
    parse(
        """
        .decl edge(x: number, y: number)
        .decl path(x: number, y: number)
        .input edge
        .output path
        path(x, y) :- edge(x, y).
        path(x, z) :- path(x, y), path(y, z).
        """
    )
).plan
EDGES = [(x, x + 1) for x in range(9)]


class Losing:
    """An observer who loses all that Spark keeps, when a round was the one."""

    def __init__(self, spark: Any, when: Callable[[Round], bool]) -> None:
        self.rounds: list[int] = []
        self._context = spark.sparkContext
        self._when = when

    def on_round(self, event: Round) -> None:
        self.rounds.append(event.round)
        if self._when(event):
            for kept in self._context._jsc.getPersistentRDDs().values():
                kept.unpersist(True)


def found(spark: Any, observer: Losing) -> set[tuple[object, ...]]:
    columns = [pa.array(values) for values in zip(*EDGES, strict=True)]
    inputs = {"edge": pa.table(columns, names=["x", "y"])}
    engine = SparkEngine(spark, strategy=Strategy.ROUNDS)
    with engine.evaluate(CLOSURE, inputs, observer=observer) as evaluation:
        return set(tuples_of(evaluation.table("path")))


def test_rows_that_are_lost_once_are_computed_from_the_start(spark: Any) -> None:
    lost: list[int] = []

    def once(event: Round) -> bool:
        if event.round != 2 or lost:
            return False
        lost.append(event.round)
        return True

    observer = Losing(spark, once)
    assert found(spark, observer) == set(nx.transitive_closure(nx.DiGraph(EDGES)).edges)
    assert observer.rounds[:4] == [0, 1, 2, 0]
    assert observer.rounds.count(0) == 2


def test_rows_that_are_lost_again_and_again_are_told(spark: Any) -> None:
    observer = Losing(spark, lambda event: event.round == 1)
    with pytest.raises(UsageError, match="W1025"):
        found(spark, observer)
    assert 1 < observer.rounds.count(0) < 9
