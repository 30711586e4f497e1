"""Tuples by groups, with the best of each: what aggregate selection knows of a relation.

All ties are best, each of several aggregates has its own best, and a tuple is best as long as it is
so for one of them. `Outgoing` is aggregate selection in a shipper.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from operator import gt, itemgetter, lt
from typing import Any

from whence.network.model import Annotation, Row, Scheme

_BETTER: dict[str, Callable[[Any, Any], bool]] = {"min": lt, "max": gt}


@dataclass(slots=True)
class Group:
    rows: dict[Row, Annotation] = field(default_factory=dict)
    """All tuples that hold, best or not."""
    best: list[Any] = field(default_factory=list)
    """The best value of each aggregate."""
    chosen: dict[Row, Annotation] = field(default_factory=dict)
    """Those that are best for an aggregate, each with its choice."""


class Groups:
    """The tuples of a relation by their group, with the best of each."""

    def __init__(self, group: tuple[int, ...], best: Sequence[tuple[str, int]]) -> None:
        self._key: Callable[[Row], Hashable] = itemgetter(*group) if group else lambda row: ()
        self._aggregates = [(_BETTER[function], column) for function, column in best]
        self.groups: dict[Hashable, Group] = {}

    def of(self, row: Row) -> Group:
        """Return the group of a tuple, a new one if need be."""
        key = self._key(row)
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = Group()
        return group

    def drop(self, row: Row) -> None:
        """Forget the group of a tuple if it is empty."""
        key = self._key(row)
        if not self.groups[key].rows:
            del self.groups[key]

    def improve(self, group: Group, row: Row) -> bool:
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

    def is_best(self, group: Group, row: Row) -> bool:
        """Return whether a tuple reaches one of the marks."""
        return any(
            row[column] == mark
            for (_, column), mark in zip(self._aggregates, group.best, strict=True)
        )

    def mark(self, group: Group) -> None:
        """Find the best values again, after a loss."""
        group.best = []
        for row in group.rows:
            self.improve(group, row)

    def restrict(self, scheme: Scheme, dead: frozenset[Hashable]) -> list[Group]:
        """Do without variables that are false; return the groups that lost a tuple."""
        pairs = (
            ((key, row), annotation)
            for key, group in self.groups.items()
            for row, annotation in group.rows.items()
        )
        touched: dict[Hashable, Group] = {}
        for key, row in scheme.affected(pairs, dead):
            group = self.groups[key]
            left = scheme.restrict(group.rows[row], dead)
            if left is None:
                del group.rows[row]
                group.chosen.pop(row, None)
                touched[key] = group
            else:
                group.rows[row] = left
        lost = []
        for key, group in touched.items():
            if group.rows:
                self.mark(group)
                lost.append(group)
            else:
                del self.groups[key]
        return lost


class Outgoing:
    """Tuples on their way to others: those that are not best among what is sent from here stay.

    Nothing is retracted: the receiver selects too, and what is better replaces what was sent.
    """

    def __init__(self, group: tuple[int, ...], best: Sequence[tuple[str, int]]) -> None:
        self._groups = Groups(group, best)
        self._targets: dict[Row, str] = {}

    def push(
        self, scheme: Scheme, target: str, relation: str, row: Row, annotation: Annotation
    ) -> bool:
        """Remember a derivation; return whether it goes on."""
        group = self._groups.of(row)
        known, _ = scheme.merge(relation, row, group.rows.get(row), annotation)
        if known is None:  # a premise fell while the derivation was under way
            self._groups.drop(row)
            return False
        group.rows[row] = known
        self._targets[row] = target
        return self._groups.improve(group, row)

    def kill(self, scheme: Scheme, dead: frozenset[Hashable]) -> list[tuple[str, Row, Annotation]]:
        """Do without variables that are false; return what goes on instead, and where to."""
        out = [
            (self._targets[row], row, annotation)
            for group in self._groups.restrict(scheme, dead)
            for row, annotation in group.rows.items()
            if self._groups.is_best(group, row)
        ]
        held = {row for group in self._groups.groups.values() for row in group.rows}
        self._targets = {row: target for row, target in self._targets.items() if row in held}
        return out
