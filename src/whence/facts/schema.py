"""What a facts file must hold: one `Column` per attribute, and how its values are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from whence.analysis.kinds import kinds_of
from whence.diagnostics import NOWHERE, Span
from whence.facts.records import NotARecord, RecordTypes, check_record
from whence.facts.values import PARSE
from whence.rewrite.annotate import COLUMN
from whence.rewrite.stated import Default
from whence.semiring.base import Cell, Semiring
from whence.syntax.nodes import Kind, Program

if TYPE_CHECKING:
    import pyarrow as pa

OnBadRow = Literal["stop", "skip"]


@dataclass(frozen=True, slots=True)
class Column:
    """One attribute; `type` is the name its declaration gives, `kind` how a value is stored."""

    name: str
    kind: Kind
    type: str = ""
    records: RecordTypes | None = field(default=None, compare=False, repr=False)
    """What a record may hold; without it records are taken as they come."""
    semiring: Semiring[Any] | None = field(default=None, compare=False, repr=False)
    """Whose annotations these are, in a column of annotations; a fact may come without."""
    default: Default | None = field(default=None, compare=False, repr=False)
    """The annotation of a fact that comes without."""

    def parse(self, text: str) -> int | float | str:
        """Return the value of a field; `ValueError` says why it is none."""
        if self.records is not None and self.kind is Kind.RECORD:
            check_record(text, self.type, self.records)
        value = PARSE[self.kind](text)
        if self.semiring is not None:
            check_annotation(value, self.semiring)
        return value


class NotAnAnnotation(ValueError):
    """The value is no annotation of the semiring."""


def check_annotation(cell: Cell, semiring: Semiring[Any]) -> None:
    """Refuse a value that is no annotation, with what is wrong about it."""
    try:
        semiring.check(cell)
    except ValueError as fault:
        raise NotAnAnnotation(str(fault)) from None


@dataclass(frozen=True, slots=True)
class Layout:
    """How one file lays out its rows: the parameters of a directive, read and checked."""

    relation: str = ""
    delimiter: str = "\t"
    headers: bool = False
    rfc4180: bool = False
    pick: tuple[int, ...] = ()
    """Which field of the file each column takes; empty is all fields in order."""
    compress: bool = False
    span: Span = NOWHERE
    """The directive, for errors that no line of the file is to blame for."""


def columns_of(
    program: Program, relation: str, default: Default | None = None
) -> tuple[Column, ...]:
    """Return the columns of a relation's facts: the attributes, and annotations where declared.

    The default is the annotation of facts that come without.
    """
    decl = program.relation(relation)
    return _columns(program, relation, decl.provenance is not None, default)


def shown_columns(program: Program, relation: str) -> tuple[Column, ...]:
    """Return the columns of a relation as it is shown: annotations in any annotated run."""
    return _columns(program, relation, True)


def _columns(
    program: Program, relation: str, annotated: bool, default: Default | None = None
) -> tuple[Column, ...]:
    kinds = kinds_of(program)
    records = RecordTypes(kinds.types, kinds.fields)
    decl = program.relation(relation)
    columns = tuple(Column(a.name, kinds.types[a.type], a.type, records) for a in decl.attributes)
    if decl.semiring is None or not annotated:
        return columns
    kind = Kind(decl.semiring.column)
    return (*columns, Column(COLUMN, kind, semiring=decl.semiring, default=default))


NOUN = {
    Kind.NUMBER: "a number",
    Kind.UNSIGNED: "an unsigned number",
    Kind.FLOAT: "a float",
    Kind.SYMBOL: "a symbol",
    Kind.RECORD: "a record",
}
"""How an error names what was expected."""


def arrow_type(kind: Kind) -> pa.DataType:
    """Return the Arrow type that holds values of this kind; records travel as text."""
    import pyarrow as pa

    match kind:
        case Kind.NUMBER:
            return pa.int64()
        case Kind.UNSIGNED:
            return pa.uint64()
        case Kind.FLOAT:
            return pa.float64()
        case Kind.SYMBOL | Kind.RECORD:
            return pa.string()


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """Return the schema of a table of facts."""
    import pyarrow as pa

    return pa.schema(
        [pa.field(c.name, arrow_type(c.kind), nullable=c.semiring is not None) for c in columns]
    )


def values_are_sound(table: pa.Table, columns: Sequence[Column]) -> bool:
    """Whether every record is one of its type and every annotation one of its semiring.

    Equal values are checked once; of a chain of numbers, which are an interval, its ends are.
    """
    return all(
        is_sound(value, column)
        for index, column in enumerate(columns)
        if column.kind is Kind.RECORD or column.semiring is not None
        for value in _telling(table.column(index), column)
    )


def _telling(values: pa.ChunkedArray, column: Column) -> list[Cell]:
    """Return the values of a column which are sound only if all are."""
    import pyarrow.compute as pc

    values = values.drop_null()
    if column.semiring is None or column.semiring.chain is None or column.kind is Kind.SYMBOL:
        found: list[Cell] = values.unique().to_pylist()
        return found
    if not len(values):
        return []
    if column.kind is Kind.FLOAT and pc.any(pc.is_nan(values)).as_py():
        return [float("nan")]
    return list(pc.min_max(values).as_py().values())


def is_sound(value: Cell, column: Column) -> bool:
    """Whether a value is a record of the column's type, or an annotation of its semiring."""
    try:
        if column.semiring is not None:
            check_annotation(value, column.semiring)
        else:
            column.parse(str(value))
    except (NotARecord, NotAnAnnotation):
        return False
    return True


def unannotated(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return a table of facts that came without annotations with an empty column for them."""
    import pyarrow as pa

    schema = arrow_schema(columns)
    empty = pa.nulls(table.num_rows, schema.field(len(columns) - 1).type)
    return pa.Table.from_arrays([*table.columns, empty], schema=schema)


def truths(count: int) -> pa.Table:
    """Return `count` rows of a relation without columns, which Arrow keeps as a bare count."""
    import pyarrow as pa

    return pa.table({"": pa.nulls(count)}).select([])
