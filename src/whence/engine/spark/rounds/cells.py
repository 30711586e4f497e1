"""What the cells of frames hold while rounds run, and the way in and out.

A number is a long, an unsigned number the long with the same bits, a float a double, a symbol a
string and a record a string that keeps any symbol (`ExactRecordText`). No cell is null: frames
whose columns cannot be null are partitioned alike, which saves moving them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from whence.analysis.kinds import record_fields, relation_kinds, type_kinds
from whence.functor.values import canonical_float, wrap_number
from whence.syntax.nodes import Atom, Constant, FunctorDecl, Kind, Nil, Program, Term

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

UNIT: Final = "unit"
"""The column of a frame that would have none."""

SIGN: Final = -(1 << 63)
_WRAP: Final = Decimal(1 << 64)

TYPES: Final[Mapping[Kind, str]] = {
    Kind.NUMBER: "bigint",
    Kind.UNSIGNED: "bigint",
    Kind.FLOAT: "double",
    Kind.SYMBOL: "string",
    Kind.RECORD: "string",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """How a cell is to be read; of a record also its type, "" for one that is always nil."""

    kind: Kind
    type: str


@dataclass(frozen=True, slots=True)
class Types:
    """What a program says about its types, relations and functors."""

    kinds: Mapping[str, Kind]
    fields: Mapping[str, tuple[str, ...]]
    functors: Mapping[str, FunctorDecl]
    columns: Mapping[str, tuple[Cell, ...]]
    """The cells of each relation."""

    def cell(self, type_: str) -> Cell:
        """Return the cell of a declared type."""
        return Cell(self.kinds[type_], type_)


def types_of(program: Program) -> Types:
    """Return the types of a program whose types are resolved."""
    kinds = relation_kinds(program)
    return Types(
        type_kinds(program),
        record_fields(program),
        {f.name: f for f in program.functors},
        {
            decl.name: tuple(
                Cell(kind, a.type)
                for a, kind in zip(decl.attributes, kinds[decl.name], strict=True)
            )
            for decl in program.relations
        },
    )


def plain(kind: Kind) -> Cell:
    """Return the cell of a primitive type."""
    return Cell(kind, kind.value)


def names_of(arity: int) -> list[str]:
    """Return the columns of a relation's frame."""
    return [f"c{i}" for i in range(arity)] or [UNIT]


def zero(kind: Kind) -> Column:
    """Return what stands where a null would be, which is nowhere."""
    from pyspark.sql import functions as F

    return F.lit("") if TYPES[kind] == "string" else F.lit(0).cast(TYPES[kind])


def fact_table(facts: Sequence[Atom], cells: Sequence[Cell]) -> pa.Table:
    """Return facts of constants as rounds hold them."""
    import pyarrow as pa

    if not cells:
        return pa.table({UNIT: pa.array([0] * len(facts), pa.int32())})
    kinds = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string()}
    return pa.table(
        {
            name: pa.array([_inside(fact.args[i]) for fact in facts], kinds[TYPES[cell.kind]])
            for i, (name, cell) in enumerate(zip(names_of(len(cells)), cells, strict=True))
        }
    )


def _inside(term: Term) -> int | float | str:
    if isinstance(term, Nil):
        return "nil"
    assert isinstance(term, Constant)
    match term.kind:
        case Kind.RECORD:
            return "nil"
        case Kind.SYMBOL:
            return str(term.value)
        case Kind.FLOAT:
            return canonical_float(float(term.value))
        case _:
            return wrap_number(int(term.value))


def filled(frame: DataFrame, cells: Sequence[Cell]) -> DataFrame:
    """Return a frame whose columns are known to have no nulls."""
    from pyspark.sql import functions as F

    if not cells:
        return frame.select(F.lit(0).alias(UNIT))
    names = names_of(len(cells))
    return frame.select(
        *(F.coalesce(F.col(n), zero(c.kind)).alias(n) for n, c in zip(names, cells, strict=True))
    )


def literal(term: Constant | Nil) -> Column:
    """Return a constant as a column."""
    from pyspark.sql import functions as F

    found = F.lit(_inside(term))
    numbers = isinstance(term, Constant) and TYPES[term.kind or Kind.NUMBER] == "bigint"
    return found.cast("bigint") if numbers else found


def entering(frame: DataFrame, cells: Sequence[Cell]) -> DataFrame:
    """Return a relation's frame, as people have it but for records, as rounds need it."""
    from pyspark.sql import functions as F

    if not cells:
        return frame.select(F.lit(0).alias(UNIT))
    named = frame.toDF(*names_of(len(cells)))
    return named.select(
        *(_entering(F.col(n), c.kind).alias(n) for n, c in zip(named.columns, cells, strict=True))
    )


def _entering(column: Column, kind: Kind) -> Column:
    from pyspark.sql import functions as F

    match kind:
        case Kind.UNSIGNED:
            whole = column.cast("decimal(20,0)")
            wrapped = whole - F.when(whole > (1 << 63) - 1, F.lit(_WRAP)).otherwise(F.lit(0))
            found = wrapped.cast("bigint")
        case Kind.FLOAT:
            found = canonical(column.cast("double"))
        case _:
            found = column.cast(TYPES[kind])
    return F.coalesce(found, zero(kind))


def leaving(frame: DataFrame, cells: Sequence[Cell], names: Sequence[str]) -> DataFrame:
    """Return a frame of rounds as people have it but for records, with these column names."""
    from pyspark.sql import functions as F

    if not cells:
        return frame.select(F.lit(True).alias(names[0]))
    return frame.select(
        *(
            _leaving(F.col(f"c{i}"), cell.kind).alias(name)
            for i, (cell, name) in enumerate(zip(cells, names, strict=True))
        )
    )


def _leaving(column: Column, kind: Kind) -> Column:
    from pyspark.sql import functions as F

    if kind is not Kind.UNSIGNED:
        return column
    whole = column.cast("decimal(20,0)")
    return (whole + F.when(column < 0, F.lit(_WRAP)).otherwise(F.lit(0))).cast("decimal(20,0)")


def canonical(column: Column) -> Column:
    """Return a double with one zero; Spark itself has one NaN wherever it compares bits."""
    from pyspark.sql import functions as F

    return F.when(column == 0.0, F.lit(0.0)).otherwise(column)


def cell_of(term: Term, known: Mapping[str, Cell], types: Types) -> Cell:
    """Return how the value of a term is to be read."""
    from whence.functor.table import FUNCTORS
    from whence.syntax.nodes import Call, Cast, Record, UserCall, Variable

    match term:
        case Variable(name=name):
            return known[name]
        case Constant(kind=kind):
            return Cell(Kind.RECORD, "") if kind is Kind.RECORD else plain(kind or Kind.NUMBER)
        case Nil():
            return Cell(Kind.RECORD, "")
        case Cast(type=type_):
            return types.cell(type_)
        case Record(type=type_):
            assert type_ is not None
            return Cell(Kind.RECORD, type_)
        case Call(functor=functor, kind=kind):
            assert kind is not None
            return plain(FUNCTORS[functor, kind].result)
        case UserCall(name=name):
            return types.cell(types.functors[name].returns)
        case _:
            raise AssertionError(f"{term!r} has no value of its own")
