"""Relations as Spark frames and as the tables that tasks work on, and the ways between the two.

A frame has the types that people expect: bigint, decimal(20,0) for unsigned numbers, of which half
are too large for any other type, double, and string for symbols and records. Inside, a table is
*normal*: exactly the Arrow types of the kinds, no nulls, one zero and one NaN, columns named by
their places, and records in the notation that keeps any symbol (`ExactRecordText`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whence.analysis.kinds import kinds_of
from whence.diagnostics import DataError, Diagnostic
from whence.engine.local.arrow import string_array
from whence.engine.local.records import ExactRecordText, RecordText
from whence.engine.local.values import Values
from whence.engine.spark.shuffle import empty_table, truths
from whence.functor.values import canonical_floats
from whence.syntax.nodes import Kind, Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

NOTHING = "()"
"""The name of the one column that a frame has for a relation without columns."""

SPARK_TYPES: Mapping[Kind, str] = {
    Kind.NUMBER: "bigint",
    Kind.UNSIGNED: "decimal(20,0)",
    Kind.FLOAT: "double",
    Kind.SYMBOL: "string",
    Kind.RECORD: "string",
}
"""What a frame's columns are, by the kinds of attributes."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a relation, as tasks have to know them."""

    relation: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    kinds: tuple[Kind, ...]
    known: Mapping[str, Kind] = field(default_factory=dict, repr=False)
    """The kinds of all types, where a column holds records."""
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)


def columns_of(program: Program) -> dict[str, Columns]:
    """Return the columns of each relation of a program whose types are resolved."""
    kinds = kinds_of(program)
    types, fields = dict(kinds.types), dict(kinds.fields)
    found = {}
    for decl in program.relations:
        names = tuple(a.name for a in decl.attributes)
        declared = tuple(a.type for a in decl.attributes)
        own = kinds.relations[decl.name]
        deep = Kind.RECORD in own
        found[decl.name] = Columns(
            decl.name, names, declared, own, types if deep else {}, fields if deep else {}
        )
    return found


# ── tables ──


def normal(table: pa.Table, columns: Columns, *, exact: bool = False) -> pa.Table:
    """Return facts as tasks take them; what does not fit is refused.

    Where they are `exact`, records are already written as tasks want them.
    """
    if not columns.kinds:  # its frames have a column all the same
        return truths(table.num_rows)
    if table.num_columns != len(columns.kinds):
        raise DataError(
            Diagnostic(
                "W0651",
                f"`{columns.relation}` has {len(columns.kinds)} columns, "
                f"its facts have {table.num_columns}",
            )
        )
    arrays = [
        _normal(table.column(i), columns.names[i], columns.types[i], kind, columns, exact)
        for i, kind in enumerate(columns.kinds)
    ]
    return pa.table(arrays, names=[str(i) for i in range(len(arrays))])


def _normal(
    column: pa.ChunkedArray, name: str, type_: str, kind: Kind, columns: Columns, exact: bool
) -> pa.ChunkedArray:
    wanted = empty_table((kind,)).schema.field(0).type
    if column.null_count:
        raise _wrong(columns, name, kind, "has empty values")
    if column.type != wanted:
        try:
            column = column.cast(wanted)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _wrong(columns, name, kind, f"has other values ({error})") from None
    if wanted == pa.string():
        try:  # Spark's texts may be any bytes
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise _wrong(columns, name, kind, "has text that is no UTF-8") from None
    if kind is Kind.FLOAT and len(column):
        return pa.chunked_array([pa.array(canonical_floats(np.asarray(column.to_numpy())))])
    if kind is Kind.RECORD and not exact:
        return _rewritten(column, type_, columns, RecordText, ExactRecordText)
    return column


def _wrong(columns: Columns, name: str, kind: Kind, what: str) -> DataError:
    message = f"column `{name}` of `{columns.relation}` is a {kind.value} but {what}"
    return DataError(Diagnostic("W0652", message))


def _rewritten(
    column: pa.ChunkedArray,
    type_: str,
    columns: Columns,
    old: type[RecordText],
    new: type[RecordText],
) -> pa.ChunkedArray:
    """Return records in another notation; equal ones are rewritten once."""
    if not len(column):
        return column
    coded = pa.concat_arrays(column.chunks).dictionary_encode()
    values = Values()
    codes = old(values, columns.known, columns.fields).parse(type_, coded.dictionary.to_pylist())
    texts = new(values, columns.known, columns.fields).print(type_, codes)
    return pa.chunked_array([string_array(texts).take(coded.indices)])


def shown(table: pa.Table, columns: Columns) -> pa.Table:
    """Return a normal table as people see it."""
    if not columns.kinds:
        return truths(table.num_rows)
    arrays = [
        _rewritten(table.column(i), columns.types[i], columns, ExactRecordText, RecordText)
        if kind is Kind.RECORD
        else table.column(i)
        for i, kind in enumerate(columns.kinds)
    ]
    return pa.table(arrays, names=list(columns.names))


def ordered(table: pa.Table, columns: Columns) -> pa.Table:
    """Return a table as people see it, sorted by its columns, records as embedded ones are."""
    if table.num_rows < 2 or not columns.kinds:
        return table
    keys = [(name, "ascending") for name in map(str, range(len(columns.kinds)))]
    at = pc.sort_indices(table.rename_columns([name for name, _ in keys]), sort_keys=keys)
    return table.take(at)


# ── frames ──


def spark_schema(columns: Columns) -> str:
    """Return the schema of a relation's frame, as Spark reads it."""
    if not columns.kinds:
        return f"`{NOTHING}` boolean"
    pairs = zip(columns.names, columns.kinds, strict=True)
    return ", ".join(f"{_quoted(name)} {SPARK_TYPES[kind]}" for name, kind in pairs)


def _quoted(name: str) -> str:
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def as_spark(table: pa.Table) -> pa.Table:
    """Return a table that people see with types that Spark knows."""
    if not table.num_columns:
        return pa.table({NOTHING: pa.array(np.ones(table.num_rows, dtype=np.bool_))})
    for i, column in enumerate(table.columns):
        if column.type == pa.uint64():
            decimals = column.cast(pa.decimal128(20, 0))
            table = table.set_column(i, table.column_names[i], decimals)
    return table


def check_frame(frame: DataFrame, relation: str, columns: Sequence[tuple[str, Kind]]) -> None:
    """Refuse a frame whose schema shows that it holds no facts of the relation."""
    from pyspark.sql.types import StructType

    if frame.isStreaming:
        raise DataError(
            Diagnostic(
                "W1024",
                f"the frame for `{relation}` is a stream",
                hint="`whence.spark.maintain` keeps views of streams current",
            )
        )
    schema = frame.schema
    assert isinstance(schema, StructType)
    if not columns:
        return
    if len(schema.fields) != len(columns):
        raise _columns_differ(relation, schema, columns)
    wrong = [
        Diagnostic(
            "W1022",
            f"column `{field_.name}` for `{name}` of `{relation}` is {_article(field_.dataType)}, "
            f"no {kind.value}",
            hint=f'cast it first: `frame.withColumn("{field_.name}", '
            f'frame["{field_.name}"].cast("{SPARK_TYPES[kind]}"))`',
        )
        for field_, (name, kind) in zip(schema.fields, columns, strict=True)
        if not _fits(field_.dataType, kind)
    ]
    if wrong:
        raise DataError(*wrong)


def _columns_differ(
    relation: str, schema: StructType, columns: Sequence[tuple[str, Kind]]
) -> DataError:
    wanted = ", ".join(f"`{name}`" for name, _ in columns)
    there = ", ".join(f"`{name}`" for name in schema.fieldNames()) or "none"
    return DataError(
        Diagnostic(
            "W1021",
            f"`{relation}` has {len(columns)} columns, its frame has {len(schema.fields)}",
            notes=(f"wanted {wanted}; the frame has {there}",),
            hint="select the columns in the order of the attributes",
        )
    )


def _article(type_: DataType) -> str:
    name = type_.simpleString()
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def _fits(type_: DataType, kind: Kind) -> bool:
    from pyspark.sql import types as T

    whole = isinstance(type_, T.IntegralType) or (
        isinstance(type_, T.DecimalType) and type_.scale == 0
    )
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return whole
        case Kind.FLOAT:
            return whole or isinstance(type_, T.FractionalType)
        case Kind.SYMBOL | Kind.RECORD:
            return isinstance(type_, T.StringType | T.CharType | T.VarcharType)


def numbered(frame: DataFrame) -> DataFrame:
    """Return the frame with columns named by their places, whatever their names are."""
    return frame.toDF(*(str(i) for i in range(len(frame.columns))))


def batches_of(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Return a table in the pieces in which Spark takes it."""
    return iter(table.to_batches(max_chunksize=1 << 19))
