"""Aggregates as Spark's, with what the embedded ones do at the edges: wrapping, NaN, nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.engine.spark.rounds.cells import Cell, canonical, plain, zero
from whence.engine.spark.rounds.terms import added, in_order
from whence.functor.aggregate import AGGREGATES, AggregateFunction
from whence.syntax.nodes import Kind

if TYPE_CHECKING:
    from pyspark.sql import Column


def aggregate(name: str, kind: Kind) -> AggregateFunction:
    """Return the embedded function, which says what it gives and whether nothing has a value."""
    return AGGREGATES[name, Kind.NUMBER if name == "count" else kind]


def result_cell(function: AggregateFunction) -> Cell:
    """Return how the aggregate is to be read."""
    return plain(function.result)


def over(function: AggregateFunction, column: Column | None) -> Column:
    """Return the aggregate over a column; over no rows it may be null."""
    from pyspark.sql import functions as F

    if function.name == "count" or column is None:
        return F.count(F.lit(1))
    match function.name, function.kind:
        case "sum", Kind.FLOAT:
            return canonical(F.sum(column))
        case "sum", _:
            return _wrapped_sum(column)
        case "mean", _:
            return canonical(F.sum(column) / F.count(F.lit(1)))
        case name, Kind.FLOAT:
            # A NaN only where there is nothing else.
            numbers = F.when(~F.isnan(column), column)
            return F.coalesce(_extreme(name, numbers), F.max(column))
        case name, kind:
            return in_order(_extreme(name, in_order(column, kind)), kind)


def _extreme(name: str, column: Column) -> Column:
    from pyspark.sql import functions as F

    return F.min(column) if name == "min" else F.max(column)


def _wrapped_sum(column: Column) -> Column:
    """Return the sum modulo 2 ** 64: that of the halves, which cannot overflow."""
    from pyspark.sql import functions as F

    low = F.sum(column.bitwiseAND(F.lit((1 << 32) - 1)))
    high = F.sum(F.shiftright(column, 32))
    return added(F.shiftleft(high, 32), low)


def of_nothing(function: AggregateFunction, found: Column) -> Column:
    """Return the aggregate with its value over no rows in place of null."""
    from pyspark.sql import functions as F

    return F.coalesce(found, zero(function.result))
