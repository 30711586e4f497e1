"""What a facts file must hold: one `Column` per attribute, and how its values are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whence.diagnostics import NOWHERE, Span
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
    attributes = program.relation(relation).attributes
    return tuple(Column(a.name, kinds[a.type], a.type) for a in attributes)


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


def truths(count: int) -> pa.Table:
    """Return `count` rows of a relation without columns, which Arrow keeps as a bare count."""
    import pyarrow as pa

    return pa.table({"": pa.nulls(count)}).select([])
