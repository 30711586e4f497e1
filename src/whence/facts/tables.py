"""Tables with types of their own (Parquet, Arrow): the wanted columns, found and converted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whence.diagnostics import DataError, Diagnostic
from whence.facts.badrows import BadRows
from whence.facts.schema import (
    NOUN,
    Column,
    Layout,
    arrow_schema,
    arrow_type,
    is_sound,
    truths,
    values_are_sound,
)
from whence.syntax.nodes import Kind

if TYPE_CHECKING:
    import pyarrow as pa

NOTHING = "()"
"""The name of the one column that stands for a relation without columns."""


def conform(table: pa.Table, columns: Sequence[Column], layout: Layout, bad: BadRows) -> pa.Table:
    """Return exactly these columns of the table: by name where all are there, else in order."""
    import pyarrow as pa

    if not columns:
        return truths(table.num_rows)
    if columns[-1].semiring is not None and not layout.pick and _lacks(table, columns):
        table = table.append_column(columns[-1].name, pa.nulls(table.num_rows))
    found = [table.column(index) for index in _places(table, columns, layout, bad)]
    arrays = [_convert(array, column, bad) for array, column in zip(found, columns, strict=True)]
    converted = pa.table(arrays, names=[column.name for column in columns])
    sound = _without_bad_values(_without_nulls(converted, columns, bad), columns, bad)
    return sound.cast(arrow_schema(columns))


def plain_strings(table: pa.Table) -> pa.Table:
    """Return the table with the values that dictionaries stand for."""
    import pyarrow as pa

    return pa.Table.from_arrays(
        [_plain_strings(column) for column in table.columns], names=table.column_names
    )


def _plain_strings(array: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    if not pa.types.is_dictionary(array.type):
        return array
    kind = array.type.value_type
    if kind != pa.string_view():
        return array.cast(kind)
    # Arrow cannot look up in a dictionary of views, which is how polars keeps categories.
    found = [chunk.dictionary.cast(pa.string()).take(chunk.indices) for chunk in array.chunks]
    return pa.chunked_array(found, pa.string())


def unconform(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return the table to write: a relation without columns becomes one column of truths."""
    import pyarrow as pa

    if columns:
        return table
    return pa.table({NOTHING: pa.array([True] * table.num_rows, pa.bool_())})


def _lacks(table: pa.Table, columns: Sequence[Column]) -> bool:
    """Say whether the facts of a table come without their annotations."""
    if columns[-1].name in table.column_names:
        return False
    plain = [column.name for column in columns[:-1]]
    return table.num_columns == len(plain) or set(plain) <= set(table.column_names)


def _places(
    table: pa.Table, columns: Sequence[Column], layout: Layout, bad: BadRows
) -> Sequence[int]:
    if layout.pick:
        if max(layout.pick) < table.num_columns:
            return layout.pick
    elif all(table.column_names.count(column.name) == 1 for column in columns):
        return [table.column_names.index(column.name) for column in columns]
    elif table.num_columns == len(columns):
        return range(len(columns))
    wanted = ", ".join(f"`{column.name}`" for column in columns)
    there = ", ".join(f"`{name}`" for name in table.column_names) or "none"
    raise DataError(
        Diagnostic(
            "W0607",
            f"`{bad.name}` does not have the columns of `{layout.relation}`",
            layout.span,
            notes=(f"wanted {wanted}; the file has {there}",),
            hint="name the columns as the attributes, or give as many in the same order",
        )
    )


def _convert(array: pa.ChunkedArray, column: Column, bad: BadRows) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = arrow_type(column.kind)
    array = _plain_strings(array)
    given = array.type
    text = pa.types.is_string(given) or pa.types.is_large_string(given) or given == pa.string_view()
    # Whole decimals are how Spark writes unsigned numbers.
    whole = pa.types.is_integer(given) or (pa.types.is_decimal(given) and given.scale == 0)
    number = whole or pa.types.is_floating(given)
    fits = text if column.kind in (Kind.SYMBOL, Kind.RECORD) else number
    try:
        if pa.types.is_null(given) or fits:
            array.validate(full=True)  # files may hold strings that are not UTF-8
            return pc.cast(array, wanted)
        fault = ""
    except pa.ArrowInvalid as error:
        fault = str(error).splitlines()[0]
    raise DataError(
        Diagnostic(
            "W0607",
            f"column `{column.name}` of `{bad.name}` is not {NOUN[column.kind]}",
            bad.layout.span,
            notes=(fault or f"its type is {given}",),
        )
    )


def _without_nulls(table: pa.Table, columns: Sequence[Column], bad: BadRows) -> pa.Table:
    import pyarrow.compute as pc

    missing = None
    for column in columns:
        if column.semiring is not None:
            continue
        nulls = pc.is_null(table.column(column.name))
        if not pc.any(nulls).as_py():
            continue
        if not bad.shown:
            row = pc.index(nulls, True).as_py() + 1
            bad.shown.append(
                Diagnostic(
                    "W0608",
                    f"row {row} of `{bad.name}` has no value for `{column.name}`",
                    bad.layout.span,
                    hint="`--on-bad-row skip` leaves bad rows out",
                )
            )
        missing = nulls if missing is None else pc.or_(missing, nulls)
    if missing is None:
        return table
    kept = table.filter(pc.invert(missing))
    bad.count += table.num_rows - kept.num_rows
    return kept


def _without_bad_values(table: pa.Table, columns: Sequence[Column], bad: BadRows) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    if values_are_sound(table, columns):
        return table
    keep = None
    for column in columns:
        if column.kind is not Kind.RECORD and column.semiring is None:
            continue
        values = table.column(column.name).unique()
        sound = [value is None or is_sound(value, column) for value in values.to_pylist()]
        test = pc.is_in(table.column(column.name), values.filter(pa.array(sound)))
        if not all(sound) and not bad.shown:
            row = pc.index(test, False).as_py() + 1
            what = f"no record of type `{column.type}` in `{column.name}`"
            if column.semiring is not None:
                what = f"no annotation in `{column.semiring.name}`"
            bad.shown.append(
                Diagnostic(
                    "W0609" if column.semiring is None else "W0942",
                    f"row {row} of `{bad.name}` has {what}",
                    bad.layout.span,
                    hint="`--on-bad-row skip` leaves bad rows out",
                )
            )
        keep = test if keep is None else pc.and_(keep, test)
    kept = table.filter(keep)
    bad.count += table.num_rows - kept.num_rows
    return kept
