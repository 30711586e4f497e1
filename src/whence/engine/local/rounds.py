"""Which rows of a relation each round added: all that explanations need to know of an evaluation.

Rows are appended round by round, so the sizes after each round say in which one a row came. That
is its rank: one less than the least height of its derivations within the stratum, where every
round derives all that follows from those before it.
"""

from __future__ import annotations

from collections.abc import Mapping

from whence.engine.base import Observer, Round
from whence.engine.local.relation import Relation


class Rounds:
    """An observer that keeps the sizes of relations after each round, and tells another."""

    def __init__(
        self,
        relations: Mapping[str, Relation],
        sizes: dict[str, list[int]],
        observer: Observer | None,
    ) -> None:
        self._relations = relations
        self._sizes = sizes
        self._observer = observer

    def on_round(self, event: Round) -> None:
        """Note the sizes, and tell the other observer."""
        for name in event.relations:
            if event.round == 0:
                self._sizes[name] = []
            self._sizes[name].append(self._relations[name].size)
        if self._observer is not None:
            self._observer.on_round(event)
