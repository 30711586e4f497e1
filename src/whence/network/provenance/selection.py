"""Aggregate selection: only tuples that are best in their group are followed, the others wait.

Liu et al. 2008, algorithm 4, corrected. All ties are best, each of several aggregates has its own
best, and a tuple is best as long as it is so for one of them. `Selection` stands before a table,
`Outgoing` in a shipper.

Under a scheme with variables a tuple that is chosen gets one more, its choice, which is false when
the tuple is best no more. So a tuple is retracted as a base tuple is deleted, exactly, however
messages are delayed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from operator import gt, itemgetter, lt
from typing import Any, cast

from whence.network.model import Annotation, Host, Row, Scheme, Update

_BETTER: dict[str, Callable[[Any, Any], bool]] = {"min": lt, "max": gt}


@dataclass(slots=True)
class _Group:
    rows: dict[Row, Annotation] = field(default_factory=dict)
    """All tuples that hold, best or not."""
    best: list[Any] = field(default_factory=list)
    """The best value of each aggregate."""
    chosen: dict[Row, Annotation] = field(default_factory=dict)
    """Those that are best for an aggregate, each with its choice."""


class _Groups:
    """The tuples of a relation by their group, with the best of each."""

    def __init__(self, group: tuple[int, ...], best: Sequence[tuple[str, int]]) -> None:
        self._key: Callable[[Row], Hashable] = itemgetter(*group) if group else lambda row: ()
        self._aggregates = [(_BETTER[function], column) for function, column in best]
        self.groups: dict[Hashable, _Group] = {}

    def of(self, row: Row) -> _Group:
        """Return the group of a tuple, a new one if need be."""
        key = self._key(row)
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = _Group()
        return group

    def drop(self, row: Row) -> None:
        """Forget the group of a tuple if it is empty."""
        key = self._key(row)
        if not self.groups[key].rows:
            del self.groups[key]

    def improve(self, group: _Group, row: Row) -> bool:
        """Return whether a tuple is as good as the best for some aggregate; it sets new marks."""
        if not group.best:
            group.best = [row[column] for _, column in self._aggregates]
            return True
        good = False
        for i, (better, column) in enumerate(self._aggregates):
            value, mark = row[column], group.best[i]
            if better(value, mark):
                group.best[i] = value
                good = True
            elif value == mark:
                good = True
        return good

    def is_best(self, group: _Group, row: Row) -> bool:
        """Return whether a tuple reaches one of the marks."""
        return any(
            row[column] == mark
            for (_, column), mark in zip(self._aggregates, group.best, strict=True)
        )

    def mark(self, group: _Group) -> None:
        """Find the best values again, after a loss."""
        group.best = []
        for row in group.rows:
            self.improve(group, row)

    def restrict(self, scheme: Scheme, dead: frozenset[Hashable]) -> list[_Group]:
        """Do without variables that are false; return the groups that lost a tuple."""
        lost = []
        for key, group in list(self.groups.items()):
            gone = False
            for row, annotation in list(group.rows.items()):
                left = scheme.restrict(annotation, dead)
                if left is None:
                    del group.rows[row]
                    group.chosen.pop(row, None)
                    gone = True
                elif left is not annotation:
                    group.rows[row] = left
            if not group.rows:
                del self.groups[key]
            elif gone:
                self.mark(group)
                lost.append(group)
        return lost


class Selection:
    """The gate of a relation: what is best for one of the aggregates passes.

    An aggregate is `min` or `max` of a column; columns count from 0.
    """

    def __init__(
        self, relation: str, group: tuple[int, ...], best: Sequence[tuple[str, int]]
    ) -> None:
        self.relation = relation
        self._groups = _Groups(group, best)
        self._host: Host
        self._scheme: Scheme

    def attach(self, host: Host) -> None:
        """Work for this processor."""
        self._host = host
        self._scheme = host.scheme

    @property
    def waiting(self) -> int:
        """How many tuples are not best."""
        return sum(len(g.rows) - len(g.chosen) for g in self._groups.groups.values())

    def push(self, update: Update) -> Sequence[Update]:
        """Take a derivation or a loss; return what follows for the best."""
        sign, _, row, annotation = update
        group = self._groups.of(row)
        old = group.rows.get(row)
        if sign < 0:
            return self._loss(group, row, old, annotation)
        news: Annotation | None = None
        if self._scheme.retracting:
            # Derivations are counted here apart from those that pass, which the scheme knows of.
            group.rows[row] = 1 if old is None else cast("int", old) + 1
        else:
            known, news = self._scheme.merge(self.relation, row, old, annotation)
            if known is not None:  # else a premise fell while the derivation was under way
                group.rows[row] = known
            if news is None:
                self._groups.drop(row)
                return ()
        if row in group.chosen:
            return (self._passed(group, row, news),)
        if old is not None or not self._groups.improve(group, row):
            return ()
        worse = [other for other in group.chosen if not self._groups.is_best(group, other)]
        # What is better comes before what it replaces goes, so that nobody is without.
        out = self._choose(group, row)
        for other in worse:
            out += self._retract(group, other)
        return out

    def kill(self, dead: frozenset[Hashable]) -> Sequence[Update]:
        """Do without variables that are false; return the tuples that are best instead."""
        out: list[Update] = []
        for group in self._groups.restrict(self._scheme, dead):
            out += self._refill(group)
        return out

    def _refill(self, group: _Group) -> list[Update]:
        return [
            update
            for row in group.rows
            if row not in group.chosen and self._groups.is_best(group, row)
            for update in self._choose(group, row)
        ]

    def _loss(
        self, group: _Group, row: Row, old: Annotation | None, annotation: Annotation
    ) -> list[Update]:
        if old is None:
            return []
        left = cast("int", old) - 1
        chosen = row in group.chosen
        if left:
            group.rows[row] = left
            return [(-1, self.relation, row, annotation)] if chosen else []
        del group.rows[row]
        if not chosen:
            self._groups.drop(row)
            return []
        del group.chosen[row]
        self._groups.mark(group)
        out = self._refill(group)
        out.append((-1, self.relation, row, annotation))
        self._groups.drop(row)
        return out

    def _choose(self, group: _Group, row: Row) -> list[Update]:
        known = group.rows[row]
        if self._scheme.retracting:
            group.chosen[row] = None
            # As many as there are derivations, each of which may be lost by itself.
            return [(1, self.relation, row, None)] * cast("int", known)
        group.chosen[row] = self._scheme.base("best " + self.relation, row)
        return [self._passed(group, row, known)]

    def _passed(self, group: _Group, row: Row, annotation: Annotation) -> Update:
        if self._scheme.retracting:
            return (1, self.relation, row, annotation)
        premises = [
            (self.relation, row, annotation),
            ("best " + self.relation, row, group.chosen[row]),
        ]
        # What was chosen is not the same as what may be: its derivation is another.
        head = ("chosen " + self.relation, row)
        return (1, self.relation, row, self._scheme.derive("selection", head, premises))

    def _retract(self, group: _Group, row: Row) -> list[Update]:
        choice = group.chosen.pop(row)
        if self._scheme.retracting:
            return [(-1, self.relation, row, None)] * cast("int", group.rows[row])
        self._host.falsify([self._scheme.variable(choice)])
        return []


class Outgoing:
    """Tuples on their way to others: those that are not best among what is sent from here stay.

    Nothing is retracted: the receiver selects too, and what is better replaces what was sent.
    """

    def __init__(self, group: tuple[int, ...], best: Sequence[tuple[str, int]]) -> None:
        self._groups = _Groups(group, best)

    def push(self, scheme: Scheme, relation: str, row: Row, annotation: Annotation) -> bool:
        """Remember a derivation; return whether it goes on."""
        group = self._groups.of(row)
        known, _ = scheme.merge(relation, row, group.rows.get(row), annotation)
        if known is None:  # a premise fell while the derivation was under way
            self._groups.drop(row)
            return False
        group.rows[row] = known
        return self._groups.improve(group, row)

    def kill(self, scheme: Scheme, dead: frozenset[Hashable]) -> list[tuple[Row, Annotation]]:
        """Do without variables that are false; return what goes on instead."""
        return [
            (row, annotation)
            for group in self._groups.restrict(scheme, dead)
            for row, annotation in group.rows.items()
            if self._groups.is_best(group, row)
        ]
