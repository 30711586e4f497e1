"""Terms that Spark cannot compute exactly: its tasks compute them with the embedded functors."""

from __future__ import annotations

import base64
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from whence.diagnostics import WhenceError
from whence.engine.local.arrow import decode_columns, encode_table
from whence.engine.local.expressions import Context, compile_constraint, compile_term
from whence.engine.local.records import ExactRecordText, RecordText
from whence.engine.local.values import NIL, Values
from whence.engine.spark.rounds.cells import Cell, Types, plain
from whence.functor.user import UserFunctors
from whence.syntax.nodes import Attribute, Constraint, FunctorDecl, Kind, RelationDecl, Term

if TYPE_CHECKING:
    from pyspark.sql import Column

_MARK = "whence-mistake:"
_MISTAKE = re.compile(_MARK + r"([A-Za-z0-9+/=]+);")


@dataclass(frozen=True, slots=True)
class Unpacking:
    """The fields of a record that is not nil."""

    places: tuple[int, ...]
    arity: int


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A record in another notation."""

    old: type[RecordText]
    new: type[RecordText]


@dataclass(frozen=True, slots=True)
class Computation:
    """What one function of columns computes; it travels to the tasks."""

    what: Term | Constraint | Unpacking | Rewriting
    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    results: tuple[Cell, ...]
    """How its value is to be read; an unpacked record has one for each field, a test none."""
    kinds: Mapping[str, Kind]
    fields: Mapping[str, tuple[str, ...]]
    functors: Mapping[str, FunctorDecl]
    user: UserFunctors

    def compute(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the values for a batch of bindings."""
        values = Values()
        old, new = ExactRecordText, ExactRecordText
        if isinstance(self.what, Rewriting):
            old, new = self.what.old, self.what.new  # type: ignore[assignment]
        rows = self._encoded(columns, values, old(values, self.kinds, self.fields))
        written = new(values, self.kinds, self.fields)
        n = rows.shape[0]
        slots = {name: i for i, name in enumerate(self.names)}
        context = Context(values, self.functors, self.kinds, self.user)
        if isinstance(self.what, Constraint):
            found = compile_constraint(self.what, slots, context)(rows, n)
            return pa.array(np.asarray(found, dtype=np.bool_))
        if isinstance(self.what, Unpacking):
            parts = values.unpack(rows[:, 0], self.what.arity)
            taken = [np.ascontiguousarray(parts[:, at]) for at in self.what.places]
            arrays = self._decoded(taken, values, written)
            return pa.StructArray.from_arrays(arrays, [f"f{i}" for i in range(len(arrays))])
        if isinstance(self.what, Rewriting):
            codes = rows[:, 0]
        else:
            codes = compile_term(self.what, slots, context)(rows, n)
        (array,) = self._decoded([np.ascontiguousarray(codes)], values, written)
        return array

    def _encoded(self, columns: Sequence[pa.Array], values: Values, text: RecordText) -> Any:
        n = len(columns[0])
        rows = np.empty((n, len(self.names)), dtype=np.int64)
        for i, (column, cell) in enumerate(zip(columns, self.cells, strict=False)):
            if cell.kind is Kind.RECORD and not cell.type:
                rows[:, i] = NIL
                continue
            chunked = pa.chunked_array([column])
            kind = _bits(cell.kind)
            decl = RelationDecl("@terms", (Attribute("value", cell.type),))
            table = pa.table({"value": chunked})
            rows[:, i] = encode_table(table, decl, (kind,), values, text)[:, 0]
        return rows

    def _decoded(self, codes: Sequence[Any], values: Values, text: RecordText) -> list[pa.Array]:
        found = []
        for column, cell in zip(codes, self.results, strict=True):
            if cell.kind is Kind.RECORD and not cell.type:
                found.append(pa.array(["nil"] * len(column), pa.string()))
                continue
            decl = RelationDecl("@terms", (Attribute("value", cell.type),))
            table = decode_columns([column], decl, (_bits(cell.kind),), values, text)
            found.append(pa.concat_arrays(table.column(0).chunks).cast(_ARROW[cell.kind]))
        return found


_ARROW = {
    Kind.NUMBER: pa.int64(),
    Kind.UNSIGNED: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.SYMBOL: pa.string(),
    Kind.RECORD: pa.string(),
}


def _bits(kind: Kind) -> Kind:
    """Rounds hold an unsigned number as its bits, which are those of a number."""
    return Kind.NUMBER if kind is Kind.UNSIGNED else kind


def column_function(computation: Computation) -> Callable[..., Column]:
    """Return the computation as a function of columns.

    Spark must neither move it below what narrows the bindings, where it may have no value, nor
    compute it twice: so it is said not to be deterministic.
    """
    from pyspark.sql.pandas.functions import arrow_udf

    def compute(*columns: pa.Array) -> pa.Array:
        try:
            return computation.compute(columns)
        except WhenceError as error:
            kept = base64.b64encode(pickle.dumps((type(error), error.diagnostics))).decode()
            raise RuntimeError(f"{_MARK}{kept};") from None

    made: Any = arrow_udf(compute, _spark_type(computation))  # type: ignore[call-overload]
    found: Callable[..., Column] = made.asNondeterministic()
    return found


def _spark_type(computation: Computation) -> str:
    from whence.engine.spark.rounds.cells import TYPES

    match computation.what:
        case Constraint():
            return "boolean"
        case Unpacking():
            parts = (f"f{i}: {TYPES[c.kind]}" for i, c in enumerate(computation.results))
            return f"struct<{', '.join(parts)}>"
        case _:
            return TYPES[computation.results[0].kind]


def mistake_in(message: str) -> WhenceError | None:
    """Return the mistake of the user's that ended a task, from what Spark says about it."""
    found = _MISTAKE.search(message)
    if found is None:
        return None
    kind, diagnostics = pickle.loads(base64.b64decode(found[1]))
    mistake: WhenceError = kind(*diagnostics)
    return mistake


def unpacking(record: Cell, places: Sequence[int], arity: int, types: Types) -> Computation:
    """Return what takes a record apart."""
    fields = types.fields[record.type]
    results = tuple(types.cell(fields[at]) for at in places)
    return _computation(Unpacking(tuple(places), arity), ("record",), (record,), results, types)


def rewriting(
    cell: Cell, old: type[RecordText], new: type[RecordText], types: Types
) -> Computation:
    """Return what writes a record in another notation."""
    return _computation(Rewriting(old, new), ("record",), (cell,), (cell,), types)


def _computation(
    what: Term | Constraint | Unpacking | Rewriting,
    names: tuple[str, ...],
    cells: tuple[Cell, ...],
    results: tuple[Cell, ...],
    types: Types,
    user: UserFunctors | None = None,
) -> Computation:
    return Computation(
        what,
        names,
        cells,
        results,
        types.kinds,
        types.fields,
        types.functors,
        user or UserFunctors(),
    )


def of_term(
    term: Term, known: Mapping[str, Cell], result: Cell, types: Types, user: UserFunctors
) -> Computation:
    """Return what computes a term of these variables."""
    return _computation(term, tuple(known), tuple(known.values()), (result,), types, user)


def of_test(
    test: Constraint, known: Mapping[str, Cell], types: Types, user: UserFunctors
) -> Computation:
    """Return what says for which bindings a constraint holds."""
    return _computation(test, tuple(known), tuple(known.values()), (), types, user)


UNUSED = plain(Kind.NUMBER)
"""The cell of a column that is given only so that there is one."""
