"""What a facts file must hold: one `Column` per attribute, and how its values are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from whence.analysis.kinds import kinds_of
from whence.diagnostics import NOWHERE, Span
from whence.facts.records import NotARecord, RecordTypes, check_record
from whence.facts.values import PARSE
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

    def parse(self, text: str) -> int | float | str:
        """Return the value of a field; `ValueError` says why it is none."""
        if self.records is not None and self.kind is Kind.RECORD:
            check_record(text, self.type, self.records)
        return PARSE[self.kind](text)


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


def columns_of(program: Program, relation: str) -> tuple[Column, ...]:
    """Return the columns of a relation that the program declares."""
    kinds = kinds_of(program)
    records = RecordTypes(kinds.types, kinds.fields)
    attributes = program.relation(relation).attributes
    return tuple(Column(a.name, kinds.types[a.type], a.type, records) for a in attributes)


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

    return pa.schema([pa.field(c.name, arrow_type(c.kind), nullable=False) for c in columns])


def records_are_sound(table: pa.Table, columns: Sequence[Column]) -> bool:
    """Whether every record of the table is one of its type; equal records are checked once."""
    return all(
        is_sound(text, column)
        for index, column in enumerate(columns)
        if column.kind is Kind.RECORD
        for text in table.column(index).unique().to_pylist()
    )


def is_sound(text: str, column: Column) -> bool:
    """Whether a text is a record of the column's type."""
    try:
        column.parse(text)
    except NotARecord:
        return False
    return True


def truths(count: int) -> pa.Table:
    """Return `count` rows of a relation without columns, which Arrow keeps as a bare count."""
    import pyarrow as pa

    return pa.table({"": pa.nulls(count)}).select([])
