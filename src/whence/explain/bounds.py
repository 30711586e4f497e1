"""How low a proof can be at best, told from ranks: often that shows that one is as low as any."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from math import inf

from whence.explain.model import Fact
from whence.explain.search import Search

_ALL = 32
"""Instances of a fact up to which all of them are looked at."""

_DEEP = 4
"""Relations computed one after the other that are looked through."""


class Bounds:
    """Lower bounds of heights, after an evaluation whose ranks are rounds."""

    def __init__(self, search: Search, is_base: Callable[[Fact], bool]) -> None:
        self._search = search
        self._is_base = is_base
        self._least = self._by_relation()

    def height(self, fact: Fact, deep: int = _DEEP) -> float:
        """Return a height that no proof of the fact is below."""
        if self._is_base(fact):
            return 0
        rules = self._search.rules
        together = rules.recursive.get(rules.component.get(fact.relation, -1))
        if together is not None:
            first = min(self._least.get(name, 0) for name in together)
            return max(1, (self._search.tuples.rank(fact) or 0) + first)
        known = max(1, self._least.get(fact.relation, 1))
        if not deep:
            return known
        some = list(islice(self._search.instances(fact), _ALL + 1))
        if len(some) > _ALL:
            return known
        return min(
            (
                1 + max((self.height(p, deep - 1) for p in instance.premises), default=0)
                for instance in some
            ),
            default=known,
        )

    def _by_relation(self) -> dict[str, float]:
        """Return the least height that any fact of each relation can have."""
        rules, tuples = self._search.rules, self._search.tuples
        least: dict[str, float] = {
            name: 0 if tuples.has_base(name) or name in rules.stated else inf
            for name in rules.by_relation
        }
        changed = True
        while changed:
            changed = False
            for name, made in rules.by_relation.items():
                for rule in made:
                    low = 1 + max((least.get(a.relation, inf) for a in rule.atoms), default=0)
                    if low < least.get(name, inf):
                        least[name], changed = low, True
        return least
