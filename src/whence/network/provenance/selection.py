"""Aggregate selection: only tuples that are best in their group are followed, the others wait.

Liu et al. 2008, algorithm 4, corrected. A `Selection` stands before a table. Under a scheme with
variables a tuple that is chosen gets one more, its choice, which is false when the tuple is best no
more. So a tuple is retracted as a base tuple is deleted, exactly, however messages are delayed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

from whence.network.model import Annotation, Host, Row, Scheme, Update
from whence.network.provenance.best import Group, Groups
from whence.network.provenance.minship import MinShip


class Selection:
    """The gate of a relation: what is best for one of the aggregates passes.

    An aggregate is `min` or `max` of a column; columns count from 0.
    """

    def __init__(
        self, relation: str, group: tuple[int, ...], best: Sequence[tuple[str, int]]
    ) -> None:
        self.relation = relation
        self.columns = (group, tuple(best))
        self._groups = Groups(group, best)
        self._host: Host
        self._scheme: Scheme

    def attach(self, host: Host) -> None:
        """Work for this processor; its shipper selects too."""
        self._host = host
        self._scheme = host.scheme
        if isinstance(host.shipper, MinShip):
            host.shipper.select(self.relation, *self.columns)

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

    def _refill(self, group: Group) -> list[Update]:
        return [
            update
            for row in group.rows
            if row not in group.chosen and self._groups.is_best(group, row)
            for update in self._choose(group, row)
        ]

    def _loss(
        self, group: Group, row: Row, old: Annotation | None, annotation: Annotation
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

    def _choose(self, group: Group, row: Row) -> list[Update]:
        known = group.rows[row]
        if self._scheme.retracting:
            group.chosen[row] = None
            # As many as there are derivations, each of which may be lost by itself.
            return [(1, self.relation, row, None)] * cast("int", known)
        group.chosen[row] = self._scheme.base("best " + self.relation, row)
        return [self._passed(group, row, known)]

    def _passed(self, group: Group, row: Row, annotation: Annotation) -> Update:
        if self._scheme.retracting:
            return (1, self.relation, row, annotation)
        premises = [
            (self.relation, row, annotation),
            ("best " + self.relation, row, group.chosen[row]),
        ]
        # What was chosen is not the same as what may be: its derivation is another.
        head = ("chosen " + self.relation, row)
        return (1, self.relation, row, self._scheme.derive("selection", head, premises))

    def _retract(self, group: Group, row: Row) -> list[Update]:
        choice = group.chosen.pop(row)
        if self._scheme.retracting:
            return [(-1, self.relation, row, None)] * cast("int", group.rows[row])
        self._host.falsify([self._scheme.variable(choice)])
        return []
