"""Tables of tuples that are asserted: soft state, which times out, and base tables."""

from __future__ import annotations

from whence.network.model import Annotation, Gate, Handle, Row
from whence.network.relations.base import Owner, Relation
from whence.network.table import Shape


class Asserted(Relation):
    """Rows replace each other by key, the oldest leave when a table is full, and rows expire."""

    __slots__ = ("_dated", "_now", "_timer")

    def __init__(self, owner: Owner, shape: Shape, arity: int, gate: Gate | None = None) -> None:
        super().__init__(owner, shape, arity, gate)
        self._dated = shape.lifetime is not None or shape.size is not None
        self._timer: Handle | None = None
        self._now = owner.clock.now

    def apply(self, sign: int, row: Row, annotation: Annotation) -> None:
        """Assert a row, or delete it."""
        table = self.table
        if sign < 0:
            if row in table.rows:
                self._drop(row)
        elif row in table.rows:
            if self._dated:
                table.touch(row, self._now())
            for fire in self.refreshes:  # of soft state, which has no annotations
                fire(1, row, None)
        else:
            rival = table.rival(row)
            if rival is not None:
                self._drop(rival)
            self._enter(row)

    def _enter(self, row: Row) -> None:
        table, note = self.table, self._note(row)
        table.add(row, note)
        if self._dated:
            table.touch(row, self._now())
            if table.shape.lifetime is not None and self._timer is None:
                self._schedule()
        if self.watchers:
            self._told(1, row)
        for fire in self.news:
            fire(1, row, note)
        for fire in self.appears:
            fire(1, row, note)
        if self._dated and (oldest := table.overflow(row)) is not None:
            self._drop(oldest)

    def _note(self, row: Row) -> Annotation:
        return None

    def _drop(self, row: Row) -> None:
        """Let strands see a row for the last time, then remove it."""
        if self.watchers:
            self._told(-1, row)
        for fire in self.vanishes:
            fire(-1, row, None)
        self.table.remove(row)

    def _schedule(self) -> None:
        due = self.table.next_expiry()
        self._timer = None if due is None else self.owner.clock.call_at(due, self._expire)

    def _expire(self) -> None:
        self._timer = None
        for row in self.table.expired(self._now()):
            self.owner.later(self._expired, row)
        self.owner.run()
        if self._timer is None:
            self._schedule()

    def _expired(self, sign: int, row: Row, annotation: Annotation) -> None:
        born, lifetime = self.table.born.get(row), self.table.shape.lifetime
        if born is None or lifetime is None or born + lifetime > self._now():
            return  # it has been refreshed or removed since it was found
        self._drop(row)


class SoftTable(Asserted):
    """Soft state: nothing that was derived from it goes when it does."""

    __slots__ = ()


class BaseTable(Asserted):
    """Hard state that rules and people assert; with a lifetime it is a window (its ends cascade).

    Its rows are the base tuples of views: under a scheme with variables each has one.
    """

    __slots__ = ("annotated",)

    def __init__(self, owner: Owner, shape: Shape, arity: int, gate: Gate | None = None) -> None:
        super().__init__(owner, shape, arity, gate)
        self.annotated = False

    def _note(self, row: Row) -> Annotation:
        if self.denials:
            self._denied_no_more(row)
        return self.owner.scheme.base(self.name, row) if self.annotated else None

    def _drop(self, row: Row) -> None:
        scheme, note = self.owner.scheme, self.table.rows[row]
        if scheme.retracting or note is None:
            super()._drop(row)
            return
        self.table.rows[row] = None  # nothing more is derived from it
        super()._drop(row)
        self.owner.falsify([scheme.variable(note)])
