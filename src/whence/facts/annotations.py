"""Annotations between people and engines: cells in columns of facts, numbers or nothing inside.

A chain's engine computes with numbers, in relations that may be annotated with anything but one;
the other relations carry no column. What people give and see is the same in either case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whence.diagnostics import DataError, Diagnostic
from whence.facts.records import canonical_record
from whence.facts.schema import Column, arrow_type, truths
from whence.rewrite.annotate import COLUMN
from whence.rewrite.stated import Default, default_cell
from whence.semiring.base import Cell, Chain, Semiring
from whence.syntax.nodes import Kind, Program
from whence.syntax.tuples import value_text

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Shape:
    """How the tables of an annotated run look to people and to the engine."""

    program: Program
    """The program with its relations marked, as `read_in` does."""
    semiring: Semiring[Any]
    carriers: frozenset[str] | None
    """The relations that carry a chain's numbers; None where all carry cells."""
    defaults: Mapping[str, Default] = field(default_factory=dict)

    def taken(self, relation: str, table: pa.Table) -> pa.Table:
        """Return facts as the engine takes them."""
        decl = self.program.relation(relation)
        default = self.defaults.get(relation)
        chain = self.semiring.chain
        if self.carriers is None or chain is None:
            if decl.provenance is None and default is None:
                return _plain(table, decl.arity)
            return with_cells(relation, table, decl.arity, self.semiring, default)
        if relation not in self.carriers:
            return _plain(table, decl.arity)
        if decl.provenance is None:
            table = _plain(table, decl.arity)
        elif _is_taken(table, decl.arity, chain):
            return table
        table = with_cells(relation, table, decl.arity, self.semiring, default)
        return _present(
            _replaced(table, as_numbers(table.column(decl.arity), self.semiring)), chain
        )

    def shown(self, relation: str, table: pa.Table) -> pa.Table:
        """Return a relation as people see it."""
        return self._outward(relation, table, self.program.relation(relation).semiring is not None)

    def given(self, relation: str, table: pa.Table) -> pa.Table:
        """Return base facts as people give them."""
        return self._outward(
            relation, table, self.program.relation(relation).provenance is not None
        )

    def hides(self, relation: str) -> bool:
        """Say whether the engine's rows have annotations that people do not see."""
        carried = self.carriers is None or relation in self.carriers
        return carried and self.program.relation(relation).semiring is None

    def _outward(self, relation: str, table: pa.Table, visible: bool) -> pa.Table:
        arity = self.program.relation(relation).arity
        if not visible:
            return _plain(table, arity)
        if self.carriers is None:
            return table
        if relation not in self.carriers:
            one = self.semiring.show(self.semiring.one)
            return _with(_plain(table, arity), _repeated(one, table.num_rows, self.semiring))
        cells = table.column(arity)
        if cells.type == cell_type(self.semiring):
            return table
        return _replaced(table, as_cells(cells, self.semiring))


def cell_type(semiring: Semiring[Any]) -> pa.DataType:
    """Return the Arrow type of a column of annotations."""
    return arrow_type(Kind(semiring.column))


def without_zeros(
    relation: str,
    table: pa.Table,
    arity: int,
    semiring: Semiring[Any],
    default: Default | None = None,
) -> pa.Table:
    """Return the facts whose annotation is not zero, as they came."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = with_cells(relation, table, arity, semiring, default).column(arity)
    different = pc.unique(cells).to_pylist()
    zeros = [c for c in different if c is not None and semiring.read(c) == semiring.zero]
    if not zeros:
        return table
    return table.filter(pa.array([cell not in zeros for cell in cells.to_pylist()]))


def with_cells(
    relation: str,
    table: pa.Table,
    arity: int,
    semiring: Semiring[Any],
    default: Default | None = None,
) -> pa.Table:
    """Return facts with a column of annotations: null for those that come without.

    The default is taken for these, a constant or what a function gives for the row.
    """
    import pyarrow as pa

    kind = cell_type(semiring)
    if table.num_columns == arity:
        cells = pa.chunked_array([pa.nulls(table.num_rows, kind)])
        table = _with(table, cells)
    else:
        cells = table.column(arity)
        cells = cells if cells.type == kind else cells.cast(kind)
    if default is None or not cells.null_count:
        return _replaced(table, cells)
    if callable(default):
        columns = [table.column(i).to_pylist() for i in range(arity)]
        rows = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
        found = [
            _default(relation, semiring, default_cell(relation, default, row))
            if cell is None
            else cell
            for row, cell in zip(rows, cells.to_pylist(), strict=True)
        ]
        return _replaced(table, pa.chunked_array([pa.array(found, kind)]))
    return _replaced(table, cells.fill_null(_default(relation, semiring, default)))


def completed(relation: str, table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return facts with annotations for those that come without: the default, or their own.

    Columns may be found by their names; the annotations come last afterwards.
    """
    import pyarrow as pa

    *others, last = columns
    if last.semiring is None or not 0 <= len(columns) - table.num_columns <= 1:
        return table
    if table.num_columns == len(others):
        table = _with(table, pa.chunked_array([pa.nulls(table.num_rows)]))
    names = table.column_names
    place = names.index(last.name) if last.name in names else len(others)
    cells = table.column(place)
    if not cells.null_count:
        return table
    plain = table.select([i for i in range(len(columns)) if i != place])
    if {c.name for c in others} == set(plain.column_names):
        plain = plain.select([c.name for c in others])
    known = _with(plain, cells)
    filled = with_cells(relation, known, len(others), last.semiring, last.default)
    cells = filled.column(len(others))
    if not cells.null_count:
        return filled
    rows = zip(*(c.to_pylist() for c in filled.columns), strict=True)
    found = [
        _own(relation, others, row, last.semiring) if cell is None else cell for *row, cell in rows
    ]
    return _replaced(filled, pa.chunked_array([pa.array(found, cells.type)]))


def _own(
    relation: str, columns: Sequence[Column], row: Sequence[Cell], semiring: Semiring[Any]
) -> Cell:
    """Return what a fact without annotation is annotated with: its name, or that it is there."""
    texts = [
        canonical_record(str(value), column.type, column.records, _text)
        if column.kind is Kind.RECORD and column.records is not None
        else value_text(value)
        for value, column in zip(row, columns, strict=True)
    ]
    named = semiring.variable(f"{relation}({', '.join(texts)})")
    return as_cell(semiring.show(named), semiring)


def _text(value: Cell, kind: Kind) -> str:
    return value_text(value)


def _default(relation: str, semiring: Semiring[Any], cell: Cell) -> Cell:
    """Return what a default says as the column holds it."""
    try:
        semiring.read(cell)
        return as_cell(cell, semiring)
    except (ValueError, OverflowError) as fault:
        raise DataError(
            Diagnostic(
                "W0942",
                f"the default for `{relation}` is no annotation in `{semiring.name}`",
                notes=(str(fault),),
            )
        ) from None


def as_cell(cell: Cell, semiring: Semiring[Any]) -> Cell:
    """Return an annotation as its column holds it, which is of one type."""
    match semiring.column:
        case "float":
            return float(cell)
        case "number":
            shown = cell if isinstance(cell, int) else semiring.show(semiring.read(cell))
            return int(shown)
        case "symbol":
            return str(cell)


def as_numbers(cells: pa.ChunkedArray, semiring: Semiring[Any]) -> pa.ChunkedArray:
    """Return the numbers that a chain computes with; a fact without annotation has one."""
    import pyarrow as pa

    chain = _chain(semiring)
    if semiring.column == "symbol":
        numbers = _each(cells, lambda cell: float(semiring.read(cell)), pa.float64())
    else:
        numbers = cells.cast(pa.float64())
    return numbers.fill_null(chain.one) if numbers.null_count else numbers


def as_cells(numbers: pa.ChunkedArray, semiring: Semiring[Any]) -> pa.ChunkedArray:
    """Return a chain's numbers as a column shows them."""
    kind = cell_type(semiring)
    if semiring.column == "symbol":
        return _each(numbers, lambda number: str(semiring.show(number)), kind)
    return numbers.cast(kind)


def _each(
    values: pa.ChunkedArray, change: Callable[[Any], Cell], kind: pa.DataType
) -> pa.ChunkedArray:
    """Return the column with every value changed; equal values are changed once."""
    import pyarrow as pa

    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    coded = array.dictionary_encode()
    changed = pa.array([change(value) for value in coded.dictionary.to_pylist()], kind)
    return pa.chunked_array([changed.take(coded.indices)])


def _chain(semiring: Semiring[Any]) -> Chain:
    chain = semiring.chain
    assert chain is not None
    return chain


def _present(table: pa.Table, chain: Chain) -> pa.Table:
    """Return the facts that are there: what is annotated zero is not."""
    import pyarrow.compute as pc

    there = pc.not_equal(table.column(table.num_columns - 1), chain.zero)
    return table if pc.all(there).as_py() in (True, None) else table.filter(there)


def _is_taken(table: pa.Table, arity: int, chain: Chain) -> bool:
    """Say whether facts are as the engine takes them: all with numbers, none of them zero.

    Views are given single facts, for which Arrow's functions would take longer than this.
    """
    import numpy as np
    import pyarrow as pa

    if table.num_columns != arity + 1 or table.schema.types[arity] != pa.float64():
        return False
    cells = table.column(arity)
    if cells.null_count:
        return False
    for chunk in cells.chunks:
        numbers = np.frombuffer(chunk.buffers()[1], dtype=np.float64)
        if (numbers[chunk.offset : chunk.offset + len(chunk)] == chain.zero).any():
            return False
    return True


def _plain(table: pa.Table, arity: int) -> pa.Table:
    if table.num_columns == arity:
        return table
    return table.select(range(arity)) if arity else truths(table.num_rows)


def _repeated(cell: Cell, rows: int, semiring: Semiring[Any]) -> pa.ChunkedArray:
    import pyarrow as pa

    value = pa.scalar(as_cell(cell, semiring), cell_type(semiring))
    return pa.chunked_array([pa.repeat(value, rows)])


def _with(table: pa.Table, cells: pa.ChunkedArray) -> pa.Table:
    import pyarrow as pa

    if not table.num_columns:
        return pa.table([cells], names=[COLUMN])
    return table.append_column(COLUMN, cells)


def _replaced(table: pa.Table, cells: pa.ChunkedArray) -> pa.Table:
    import pyarrow as pa

    last = table.num_columns - 1
    return table.set_column(last, pa.field(COLUMN, cells.type), cells)
