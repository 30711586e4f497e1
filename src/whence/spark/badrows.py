"""Rows of frames that are no facts: which they are, and in which file, where Spark knows it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whence.compiled import Compiled
from whence.diagnostics import DataError, Diagnostic
from whence.facts.badrows import SHOWN
from whence.facts.schema import Column, columns_of
from whence.spark.faults import told
from whence.syntax.nodes import Kind

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

_OF_VALUES = frozenset({"W0652", "W0654"})
"""What is told of values that do not fit, without their rows."""


def with_places(error: DataError, compiled: Compiled, given: Mapping[str, Any]) -> DataError:
    """Return the error with the rows that are to blame, if they are rows of a frame."""
    from whence.spark.batch import given_frames

    if not any(found.code in _OF_VALUES for found in error.diagnostics):
        return error
    for relation, frame in given_frames(given).items():
        columns = columns_of(compiled.source, relation)
        found = bad_rows(frame, relation, columns)
        if found:
            return DataError(*found)
    return error


def bad_rows(frame: DataFrame, relation: str, columns: tuple[Column, ...]) -> list[Diagnostic]:
    """Return the first rows of a frame that lack a value, or have one that cannot be."""
    from pyspark.errors import PySparkException

    tests = [
        (column, frame[f"`{name.replace('`', '``')}`"])
        for column, name in zip(columns, frame.columns, strict=False)
        if column.semiring is None
    ]
    if not tests or len(set(frame.columns)) < len(frame.columns):
        return []
    for place in (("_metadata.file_path", "_metadata.row_index"), ("_metadata.file_path",), ()):
        try:
            return _found(frame, relation, tests, place)
        except PySparkException as fault:
            if not place:
                return [
                    Diagnostic("W1025", f"Spark gave up on the facts of {relation}: {told(fault)}")
                ]
    return []


def _found(
    frame: DataFrame,
    relation: str,
    tests: list[tuple[Column, SparkColumn]],
    place: tuple[str, ...],
) -> list[Diagnostic]:
    from pyspark.sql import functions as F

    wrong = [(column, _is_wrong(frame, column, cell)) for column, cell in tests]
    which = F.coalesce(*(F.when(test, F.lit(i)) for i, (_, test) in enumerate(wrong)))
    texts = (F.make_valid_utf8(cell.cast("string")) for _, cell in tests)
    values = F.concat_ws(", ", *(F.coalesce(text, F.lit("null")) for text in texts))
    any_ = functools.reduce(lambda a, b: a | b, (test for _, test in wrong))
    row_at = [F.col(name).alias(f"place{i}") for i, name in enumerate(place)]
    rows = frame.where(any_).select(which, values, *row_at).limit(SHOWN).collect()
    return [_diagnostic(relation, tests[row[0]][0], row[1], list(row[2:])) for row in rows]


def _is_wrong(frame: DataFrame, column: Column, cell: SparkColumn) -> SparkColumn:
    from pyspark.sql import functions as F

    lacks = cell.isNull()
    if column.kind is Kind.NUMBER:
        low, high = F.lit(-(1 << 63)).cast("decimal(20,0)"), F.lit((1 << 63) - 1)
        return lacks | (cell < low) | (cell > high.cast("decimal(20,0)"))
    if column.kind is Kind.UNSIGNED:
        return lacks | (cell < 0) | (cell > F.lit(str((1 << 64) - 1)).cast("decimal(20,0)"))
    if column.kind in (Kind.SYMBOL, Kind.RECORD):
        return lacks | ~F.is_valid_utf8(cell.cast("string"))
    return lacks


def _diagnostic(relation: str, column: Column, values: str, place: list[Any]) -> Diagnostic:
    row = f"row {place[1] + 1} of `{place[0]}`" if len(place) > 1 else "a row"
    if len(place) == 1:
        row = f"a row of `{place[0]}`"
    shown = values if len(values) <= 60 else f"{values[:60]}…"
    return Diagnostic(
        "W1028",
        f"{row} is no fact of `{relation}`: `{column.name}` is no {column.kind.value}",
        notes=(f"the row is ({shown})",),
        hint="leave such rows out: `frame.dropna()`",
    )
