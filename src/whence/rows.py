"""Rows from Python as tables of facts, and tables as tuples that compare as facts do.

Facts are equal when their values are: there is one NaN and one zero, and a record is one text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from whence.diagnostics import DataError, Diagnostic
from whence.facts.annotations import completed
from whence.facts.records import NotARecord, canonical_record, record_text
from whence.facts.schema import Column, arrow_schema, is_sound, truths, values_are_sound
from whence.facts.tables import plain_strings
from whence.syntax.nodes import Kind

if TYPE_CHECKING:
    import pyarrow as pa

Row: TypeAlias = tuple[int | float | str, ...]
"""One fact's values."""
_NUMERIC = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT)


def as_table(
    relation: str, columns: tuple[Column, ...], rows: object, *, comes: bool = True
) -> pa.Table:
    """Return the rows as an Arrow table with the relation's schema.

    A fact that `comes` may come without its annotation; one that goes is named with it.
    """
    import pyarrow as pa

    schema = arrow_schema(columns)
    try:
        table = _arrow(relation, columns, rows)
        if not columns:
            return truths(table.num_rows)
        if columns[-1].semiring is not None:
            table = completed(relation, table, columns) if comes else table
        elif table.schema == schema:  # as tuples come, one by one: the rest would cost more
            return _checked(relation, table, columns)
        if table.num_columns != len(columns):
            raise _wrong(relation, f"{table.num_columns} columns given, {len(columns)} declared")
        names = [c.name for c in columns]
        if set(table.column_names) == set(names):
            table = table.select(names)
        table = table.rename_columns(names)
        return _checked(relation, plain_strings(table), columns)
    except (pa.ArrowException, OverflowError, UnicodeError) as e:
        raise _wrong(relation, str(e).splitlines()[0].lower()) from None


def _checked(relation: str, table: pa.Table, columns: tuple[Column, ...]) -> pa.Table:
    if any(column.null_count for column in table.columns):
        what = "a fact has no empty values"
        if columns[-1].semiring is not None and table.column(len(columns) - 1).null_count:
            what = "a fact that goes is given with its annotation"
        raise _wrong(relation, what)
    schema = arrow_schema(columns)
    table = table if table.schema == schema else table.cast(schema)
    if columns[-1].semiring is not None and not values_are_sound(table, columns):
        wrong = [
            value
            for value in table.column(len(columns) - 1).unique().to_pylist()
            if not is_sound(value, columns[-1])
        ]
        if wrong:
            name = columns[-1].semiring.name
            message = f"{wrong[0]!r} is no annotation in `{name}` for a fact of `{relation}`"
            raise DataError(Diagnostic("W0942", message, notes=_faults(columns[-1], wrong[0])))
    if any(column.kind not in _NUMERIC for column in columns):
        table.validate(full=True)  # other libraries let any bytes through as strings
    return one_text(relation, table, columns)


def tuples_of(table: pa.Table) -> list[Row]:
    """Return the facts of a table of a relation; equal facts are equal tuples."""
    import pyarrow as pa

    if not table.num_columns:
        return [()] * min(table.num_rows, 1)
    columns = [
        [x + 0.0 if x == x else math.nan for x in column.to_pylist()]
        if pa.types.is_floating(column.type)
        else column.to_pylist()
        for column in table.columns
    ]
    return list(zip(*columns, strict=True))


def table_of(columns: Sequence[Column], rows: Sequence[Row]) -> pa.Table:
    """Return checked tuples as a table of the relation with these columns."""
    import pyarrow as pa

    if not columns:
        return truths(len(rows))
    schema = arrow_schema(columns)
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    return pa.table(
        [pa.array(v, type=f.type) for v, f in zip(values, schema, strict=True)], schema=schema
    )


def distinct(table: pa.Table) -> pa.Table:
    """Return each row of a table of facts once, in the order in which they first come."""
    if not table.num_columns:
        return table.slice(0, 1)
    grouped = table.group_by(table.column_names, use_threads=False).aggregate([])
    return grouped.cast(table.schema)


def one_text(relation: str, table: pa.Table, columns: tuple[Column, ...]) -> pa.Table:
    """Return the table with each record written in the one way; what is no record is refused."""
    import pyarrow as pa

    for index, column in enumerate(columns):
        if column.kind is Kind.RECORD and column.records is not None:
            coded = table.column(index).combine_chunks().dictionary_encode()
            texts = []
            for text in coded.dictionary.to_pylist():
                try:
                    texts.append(canonical_record(text, column.type, column.records))
                except NotARecord as fault:
                    shown = text if len(text) <= 60 else f"{text[:60]}…"
                    what = f"`{shown}` is no record of type `{column.type}`: {fault.wanted} "
                    raise _wrong(
                        relation, f"{what}expected at character {fault.offset + 1}"
                    ) from None
            written = pa.array(texts, pa.string()).take(coded.indices)
            table = table.set_column(index, table.schema.field(index), written)
    return table


def _arrow(relation: str, columns: tuple[Column, ...], rows: object) -> pa.Table:
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return rows
    if hasattr(rows, "iloc") and hasattr(rows, "columns"):  # pandas, whose stream has the index
        if not rows.columns.is_unique:
            raise _wrong(relation, "two columns have the same name")
        return pa.Table.from_pandas(rows, preserve_index=False)
    if hasattr(rows, "__arrow_c_stream__"):
        return pa.table(rows)
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, Mapping):
        if any(not isinstance(v, Iterable) or isinstance(v, str | bytes) for v in rows.values()):
            raise _wrong(relation, "a column is a sequence of values")
        return pa.table({str(name): column for name, column in rows.items()})
    if hasattr(rows, "__array__") and not isinstance(rows, list | tuple):
        import numpy

        array = numpy.asarray(rows)
        if array.ndim != 2:
            raise _wrong(relation, f"an array of facts has 2 dimensions, not {array.ndim}")
        names = [str(i) for i in range(array.shape[1])]
        return pa.table([array[:, i] for i in range(array.shape[1])], names=names)
    return _from_tuples(relation, columns, rows)


def _from_tuples(relation: str, columns: tuple[Column, ...], rows: object) -> pa.Table:
    import pyarrow as pa

    if not isinstance(rows, Iterable) or isinstance(rows, str | bytes):
        raise _wrong(relation, f"facts come as rows, not as {type(rows).__name__}")
    listed = [tuple(row) if isinstance(row, list | tuple) else (row,) for row in rows]
    if columns and columns[-1].semiring is not None:  # a fact may come without its annotation
        listed = [(*row, None) if len(row) == len(columns) - 1 else row for row in listed]
    for row in listed:
        if len(row) != len(columns):
            raise _wrong(relation, f"{row!r} has {len(row)} values for {len(columns)} columns")
    if not columns:
        return truths(len(listed))
    values = list(zip(*listed, strict=True)) or [()] * len(columns)
    arrays = [
        [record_text(v) for v in column] if spec.kind is Kind.RECORD else list(column)
        for column, spec in zip(values, columns, strict=True)
    ]
    for column, spec in zip(arrays, columns, strict=True):
        if spec.semiring is not None and spec.kind is Kind.SYMBOL:  # a count, or a level
            column[:] = [str(v) if isinstance(v, int | float) else v for v in column]
        if spec.kind in (Kind.NUMBER, Kind.UNSIGNED):
            for v in column:
                if isinstance(v, float) and not v.is_integer():  # Arrow would cut the fraction off
                    raise _wrong(relation, f"{v!r} is no {spec.kind.value}")
    schema = arrow_schema(columns)
    return pa.table(
        [pa.array(a, type=f.type) for a, f in zip(arrays, schema, strict=True)], schema=schema
    )


def _faults(column: Column, value: int | float | str) -> tuple[str, ...]:
    """Return what the semiring says of a value that is no annotation."""
    assert column.semiring is not None
    try:
        column.semiring.read(value)
    except (TypeError, ValueError) as fault:
        return (str(fault),)
    return ()


def _wrong(relation: str, what: str) -> DataError:
    return DataError(Diagnostic("W0654", f"these facts for `{relation}` do not fit: {what}"))
