"""Best first, in buckets: of the rows that changed, the recursion follows the best ones first.

A row that is followed too early is followed again when it improves. So each bucket takes what is
as good as a bound, until nothing is left below it; then the bound moves on. The relations that are
computed together share it, as Knuth's generalisation of Dijkstra's algorithm shares one queue.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whence.engine.local.keyed import KeyedRelation
from whence.engine.local.relation import Relation
from whence.plan.nodes import StratumPlan

_SMALL = 4096
"""Changed rows that are followed at once: choosing among them would cost more."""

_SAMPLE = 256
_QUANTILE = 0.75
"""The part of what waits that the next bucket takes."""


class Buckets:
    """The frontiers of keyed relations with one order."""

    def __init__(self, relations: Sequence[KeyedRelation]) -> None:
        self._relations = relations
        self._bound: int | None = None

    def advance(self) -> int:
        """Make the best of what has changed the deltas; return how many rows they have."""
        waiting = sum(relation.changed for relation in self._relations)
        if waiting <= _SMALL:
            self._bound = None
            return sum([relation.advance() for relation in self._relations])
        taken = 0
        if self._bound is not None:
            taken = self._take(self._bound)
        if not taken:
            samples = np.concatenate([relation.sample(_SAMPLE) for relation in self._relations])
            samples.sort()
            self._bound = int(samples[int(_QUANTILE * samples.shape[0])])
            taken = self._take(self._bound)
        return taken

    def _take(self, bound: int) -> int:
        return sum([relation.advance_to(bound) for relation in self._relations])


def buckets_of(plan: StratumPlan, relations: Sequence[Relation]) -> Buckets | None:
    """Return the buckets of a stratum whose relations all keep what is best in one order."""
    keyed = [relation for relation in relations if isinstance(relation, KeyedRelation)]
    orders = {(relation.keyed.kind, relation.keyed.greatest) for relation in keyed}
    if len(keyed) < len(relations) or len(orders) != 1 or plan.dominations:
        return None
    return Buckets(keyed)
