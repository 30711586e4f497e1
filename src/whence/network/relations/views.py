"""Tables of tuples that hold as long as something derives them.

What is known of a tuple is an annotation, and a scheme says how annotations grow and shrink. Rows
with the same primary key hide each other, the last one that came shows; when it goes, one that it
had hidden shows again. So the order of messages decides only while two derivations contradict
each other, not for good. (Under a scheme with variables, what was derived from a row that is only
hidden stays: it goes with the variables of the row, or comes to hold again with it.)
"""

from __future__ import annotations

from collections.abc import Hashable

from whence.network.model import Annotation, Gate, Row
from whence.network.relations.base import Owner, Relation
from whence.network.table import Shape, columns_of


class View(Relation):
    """A relation that is kept exact."""

    __slots__ = ("_hidden", "_key", "facts")

    def __init__(self, owner: Owner, shape: Shape, arity: int, gate: Gate | None = None) -> None:
        super().__init__(owner, shape, arity, gate)
        self.facts: dict[Row, Annotation] = {}
        self._key = None if shape.key is None else columns_of(shape.key)
        self._hidden: dict[Hashable, dict[Row, Annotation]] = {}

    def put(self, row: Row) -> None:
        """Take a tuple from outside: one more way to derive it, once."""
        if row not in self.facts:
            scheme = self.owner.scheme
            self.facts[row] = None if scheme.retracting else scheme.base(self.name, row)
            self.entry(1, row, self.facts[row])

    def take(self, row: Row) -> None:
        """Take back a tuple from outside."""
        if row in self.facts:
            note, scheme = self.facts.pop(row), self.owner.scheme
            if scheme.retracting:
                self.entry(-1, row, None)
            else:
                self.owner.falsify([scheme.variable(note)])

    def apply(self, sign: int, row: Row, annotation: Annotation) -> None:
        """Take one derivation of a tuple, or take it back."""
        rows, scheme = self.table.rows, self.owner.scheme
        if row in rows:
            old = rows[row]
            if old is None:  # it is about to go, so it goes first
                self._vanish(row)
        else:
            old = self._uncovered(row) if self._hidden else None
        if sign > 0:
            known, news = scheme.merge(self.name, row, old, annotation)
            if row in rows:
                rows[row] = known
                if news is not None:
                    for fire in self.news:
                        fire(1, row, news)
            elif known is not None:
                self._appear(row, known, known if old is not None or news is None else news)
            return
        left = scheme.withdraw(self.name, row, old, annotation)
        if row not in rows:
            if old is not None and left is not None:  # it was hidden, and stays so
                self._hide(row, left)
        elif left is None:
            self._vanish(row)
        else:
            rows[row] = left

    def _appear(self, row: Row, known: Annotation, news: Annotation) -> None:
        rival = self.table.rival(row)
        if rival is not None:
            self._hide(rival, self.table.rows[rival])
            self._leave(rival)
        if self.denials:
            self._denied_no_more(row)
        self.table.add(row, known)
        if self.watchers:
            self._told(1, row)
        for fire in self.news:
            fire(1, row, news)
        for fire in self.appears:
            fire(1, row, news)

    def _vanish(self, row: Row) -> None:
        self._leave(row)
        if self._hidden and self._key is not None:
            hidden = self._hidden.get(self._key(row))
            if hidden:
                last = next(reversed(hidden))
                note = self._uncovered(last)
                self._appear(last, note, note)

    def _leave(self, row: Row) -> None:
        if self.watchers:
            self._told(-1, row)
        for fire in self.vanishes:
            fire(-1, row, None)
        self.table.remove(row)

    def _hide(self, row: Row, note: Annotation) -> None:
        if self._key is not None and note is not None:
            self._hidden.setdefault(self._key(row), {})[row] = note

    def _uncovered(self, row: Row) -> Annotation:
        """Return what is known of a hidden row, which is hidden no more; None: there is none."""
        if self._key is None:
            return None
        key = self._key(row)
        hidden = self._hidden.get(key)
        if hidden is None or row not in hidden:
            return None
        note = hidden.pop(row)
        if not hidden:
            del self._hidden[key]
        return note

    def restrict(self, dead: frozenset[Hashable]) -> None:
        """Do without variables that are false; what nothing derives any more goes."""
        rows, restrict, owner = self.table.rows, self.owner.scheme.restrict, self.owner
        for row in owner.scheme.affected(rows.items(), dead):
            rows[row] = left = restrict(rows[row], dead)
            if left is None:
                owner.later(self._gone, row)
        for hidden in self._hidden.values():
            for row, note in list(hidden.items()):
                left = restrict(note, dead)
                if left is None:
                    del hidden[row]
                else:
                    hidden[row] = left
        for key in [key for key, hidden in self._hidden.items() if not hidden]:
            del self._hidden[key]

    def _gone(self, sign: int, row: Row, annotation: Annotation) -> None:
        if row in self.table.rows and self.table.rows[row] is None:
            self._vanish(row)
