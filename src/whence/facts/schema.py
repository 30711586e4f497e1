"""What a facts file must hold: one `Column` per attribute, and how its values are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from whence.diagnostics import NOWHERE, Span
from whence.facts.records import NotARecord, RecordTypes, check_record
from whence.facts.values import PARSE
from whence.syntax.nodes import Kind, Program, RecordType, Subtype, TypeDecl, UnionType

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
    kinds = kinds_of_types(program)
    types = RecordTypes(kinds, _fields_of_records(program))
    attributes = program.relation(relation).attributes
    return tuple(Column(a.name, kinds[a.type], a.type, types) for a in attributes)


def _fields_of_records(program: Program) -> dict[str, tuple[str, ...]]:
    """Return the types of the fields, for record types and for the other names they go by."""
    fields = {
        decl.name: tuple(each.type for each in decl.fields)
        for decl in program.types
        if isinstance(decl, RecordType)
    }
    bases = {decl.name: decl.base for decl in program.types if isinstance(decl, Subtype)}
    for name in bases:
        base = name
        for _ in bases:
            base = bases.get(base, base)
        if base in fields:
            fields.setdefault(name, fields[base])
    return fields


def kinds_of_types(program: Program) -> dict[str, Kind]:
    """Return the kind of every type; the program is known to be well typed."""
    kinds: dict[str, Kind] = {k.value: k for k in Kind if k is not Kind.RECORD}
    pending = list(program.types)
    while pending:
        waiting: list[TypeDecl] = []
        for decl in pending:
            match decl:
                case RecordType():
                    kinds[decl.name] = Kind.RECORD
                case Subtype(base=base) if base in kinds:
                    kinds[decl.name] = kinds[base]
                case UnionType(members=members) if any(m in kinds for m in members):
                    kinds[decl.name] = next(kinds[m] for m in members if m in kinds)
                case _:
                    waiting.append(decl)
        if len(waiting) == len(pending):
            break
        pending = waiting
    return kinds


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
