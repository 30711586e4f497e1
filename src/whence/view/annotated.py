"""Relations as an annotated run shows them: of an evaluation, of a live view, of a view made anew.

A chain's annotations are columns of a program that is maintained like any other. In any other
semiring a view evaluates again after each batch, and tells exactly what that changed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from whence.engine.base import Evaluation
from whence.facts.annotations import Shape, as_numbers, completed
from whence.facts.schema import Column, arrow_schema, columns_of, shown_columns, truths
from whence.view.base import Batch, Change, Changes, Update, View, Work

if TYPE_CHECKING:
    import pyarrow as pa

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = dict[Row, None]


class ShownEvaluation:
    """An evaluation whose tables have annotations where people are to see them."""

    def __init__(self, inner: Evaluation, shape: Shape) -> None:
        self.inner = inner
        self.shape = shape
        self.stats = inner.stats
        self.selected = inner.selected

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        return self.inner.size(relation)

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples, with their annotations where the relation shows them."""
        return self.shape.shown(relation, self.inner.table(relation, ordered=ordered))


class ChainView:
    """A live view of a program that carries a chain's annotations as columns."""

    def __init__(self, inner: View, shape: Shape) -> None:
        self.inner = inner
        self.shape = shape

    @property
    def work(self) -> Work:
        return self.inner.work

    @work.setter
    def work(self, work: Work) -> None:
        self.inner.work = work

    @property
    def selected(self) -> frozenset[str]:
        return self.inner.selected

    def apply(self, batch: Batch) -> Changes:
        """Apply the whole batch, or nothing when it fails, and return the net changes."""
        taken = {
            name: Update(self._taken(name, update.inserted), self._taken(name, update.deleted))
            for name, update in batch.items()
        }
        changes = self.inner.apply(taken)
        shown = {name: self._change(name, change) for name, change in changes.items()}
        return Changes({name: change for name, change in shown.items() if change is not None})

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        return self.inner.size(relation)

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples, with their annotations where the relation shows them."""
        return self.shape.shown(relation, self.inner.table(relation, ordered=ordered))

    def base(self, relation: str) -> pa.Table:
        """Return the base facts of the relation, as they were given."""
        return self.shape.given(relation, self.inner.base(relation))

    def matching(self, relation: str, columns: tuple[int, ...], keys: pa.Table) -> pa.Table:
        """Return the base facts whose columns have the values of some row of `keys`."""
        arity = self.shape.program.relation(relation).arity
        if arity in columns:
            place = columns.index(arity)
            numbers = as_numbers(keys.column(place), self.shape.semiring)
            keys = keys.set_column(place, keys.column_names[place], numbers)
        return self.shape.given(relation, self.inner.matching(relation, columns, keys))

    def _taken(self, relation: str, table: pa.Table | None) -> pa.Table | None:
        return None if table is None else self.shape.taken(relation, table)

    def _change(self, relation: str, change: Change) -> Change | None:
        shape = self.shape
        if not shape.hides(relation) or not (change.insertions and change.deletions):
            return Change(
                relation,
                change.insertions,
                change.deletions,
                lambda: shape.shown(relation, change.inserted),
                lambda: shape.shown(relation, change.deleted),
            )
        # A fact whose annotation alone has changed has not changed to those who do not see it.
        came = dict.fromkeys(tuples(shape.shown(relation, change.inserted)))
        went = dict.fromkeys(tuples(shape.shown(relation, change.deleted)))
        return difference(shape, relation, went, came)


class RenewedView:
    """A view that evaluates everything again after each batch, in any semiring."""

    def __init__(
        self,
        shape: Shape,
        inputs: Mapping[str, pa.Table],
        evaluate: Callable[[Mapping[str, pa.Table]], Evaluation],
    ) -> None:
        self.shape = shape
        self.work = Work()
        self._evaluate = evaluate
        self._base = {
            name: dict.fromkeys(tuples(self._filled(name, table))) for name, table in inputs.items()
        }
        self._names = [
            decl.name for decl in shape.program.relations if "inline" not in decl.qualifiers
        ]
        self._evaluation = self._renewed(self._base)

    @property
    def selected(self) -> frozenset[str]:
        return frozenset()

    def apply(self, batch: Batch) -> Changes:
        """Apply the whole batch, or nothing when it fails, and return the net changes."""
        started = time.perf_counter()
        base = dict(self._base)
        for name, update in batch.items():
            rows = dict(base.get(name, {}))
            for row in self._rows(name, update.deleted):
                rows.pop(row, None)
            rows |= self._rows(name, update.inserted)
            base[name] = rows
        evaluation = self._renewed(base)
        changes = {}
        for name in self._names:
            before = dict.fromkeys(tuples(self._evaluation.table(name)))
            change = difference(
                self.shape, name, before, dict.fromkeys(tuples(evaluation.table(name)))
            )
            if change is not None:
                changes[name] = change
        self._base, self._evaluation = base, evaluation
        self.work = Work(time.perf_counter() - started)
        return Changes(changes)

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        return self._evaluation.size(relation)

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples, with their annotations where the relation shows them."""
        return self._evaluation.table(relation, ordered=ordered)

    def base(self, relation: str) -> pa.Table:
        """Return the base facts of the relation, as they were given."""
        return self._table(relation, self._base.get(relation, {}))

    def matching(self, relation: str, columns: tuple[int, ...], keys: pa.Table) -> pa.Table:
        """Return the base facts whose columns have the values of some row of `keys`."""
        wanted = set(tuples(keys))
        found = {
            row: None
            for row in self._base.get(relation, {})
            if tuple(row[c] for c in columns) in wanted
        }
        return self._table(relation, found)

    def _renewed(self, base: Mapping[str, Rows]) -> Evaluation:
        return self._evaluate({name: self._table(name, rows) for name, rows in base.items()})

    def _rows(self, relation: str, table: pa.Table | None) -> Rows:
        return {} if table is None else dict.fromkeys(tuples(self._filled(relation, table)))

    def _filled(self, relation: str, table: pa.Table) -> pa.Table:
        """Return facts as people give them, with annotations where they are declared."""
        columns = columns_of(self.shape.program, relation, self.shape.defaults.get(relation))
        table = self.shape.given(relation, table)
        return completed(relation, table, columns) if columns else table

    def _table(self, relation: str, rows: Rows) -> pa.Table:
        return table_of(columns_of(self.shape.program, relation), rows)


def tuples(table: pa.Table) -> list[Row]:
    """Return the rows of a table; equal facts are equal tuples, as there is one NaN."""
    import pyarrow as pa

    if not table.num_columns:
        return [()] * min(table.num_rows, 1)
    columns = [
        [x if x is None or x == x else math.nan for x in column.to_pylist()]
        if pa.types.is_floating(column.type)
        else column.to_pylist()
        for column in table.columns
    ]
    return list(zip(*columns, strict=True))


def table_of(columns: Sequence[Column], rows: Collection[Row]) -> pa.Table:
    """Return rows as a table of a relation with these columns."""
    import pyarrow as pa

    if not columns:
        return truths(len(rows))
    schema = arrow_schema(columns)
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    arrays = [pa.array(v, f.type) for v, f in zip(values, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def difference(shape: Shape, relation: str, before: Rows, after: Rows) -> Change | None:
    """Return what leads from one set of rows as shown to another; None where nothing does."""
    came = [row for row in after if row not in before]
    went = [row for row in before if row not in after]
    if not came and not went:
        return None
    columns = shown_columns(shape.program, relation)
    return Change(
        relation,
        len(came),
        len(went),
        lambda: table_of(columns, came),
        lambda: table_of(columns, went),
    )
