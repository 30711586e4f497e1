"""Top-k: the costs of the k cheapest derivations, or the k least distinct costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from heapq import nsmallest

from whence.semiring.base import Cell, Law, Semiring
from whence.semiring.numeric import Number, at_least_zero, plain

Costs = tuple[Number, ...]
"""At most k costs, in order. There is no ∞ among them: a derivation that costs ∞ is none."""


class TopK(Semiring[Costs]):
    """Costs with repeats, as many as there are derivations of that cost, up to k in all.

    For k > 1 it is neither idempotent nor absorptive, but stable: of what goes round a cycle, k
    rounds are all that can count (Mohri 2002: it is k-closed).
    """

    column = "symbol"
    zero: Costs = ()
    one: Costs = (0,)

    def __init__(self, k: int) -> None:
        if k < 1:
            raise ValueError("k must be at least 1")
        self.k = k
        self.name = f"top-{k}"
        self.laws = Law.STABLE
        if k == 1:
            self.laws |= Law.IDEMPOTENT | Law.ABSORPTIVE | Law.SELECTIVE

    def plus(self, a: Costs, b: Costs) -> Costs:
        if not a or not b:
            return a or b
        return self._first(sorted(a + b))

    def times(self, a: Costs, b: Costs) -> Costs:
        if len(a) == 1 or len(b) == 1:
            x, many = (a[0], b) if len(a) == 1 else (b[0], a)
            # Adding x keeps the order, but rounding may make two costs equal.
            return self._first([x + y for y in many])
        return self._first(sorted([x + y for x in a for y in b]))

    def read(self, cell: Cell) -> Costs:
        cells = cell.replace(",", " ").split() if isinstance(cell, str) else [cell]
        return self._first(sorted(at_least_zero(c) for c in cells))

    def show(self, value: Costs) -> str:
        return " ".join(str(plain(cost)) for cost in value)

    def samples(self) -> Iterable[Costs]:
        return ((), (0,), self._first((0, 1)), self._first((1, 1, 2)), self._first((2, 3, 5, 8)))

    def sum(self, values: Iterable[Costs]) -> Costs:
        return tuple(nsmallest(self.k, (cost for value in values for cost in value)))

    def _first(self, ascending: Sequence[Number]) -> Costs:
        least = ascending[: self.k]
        if least and least[-1] == math.inf:
            least = [cost for cost in least if cost != math.inf]
        return tuple(least)


class TopKDistinct(TopK):
    """The k least distinct costs: derivations of the same cost count once, so it is idempotent."""

    def __init__(self, k: int) -> None:
        super().__init__(k)
        self.name = f"top-{k}-distinct"
        self.laws |= Law.IDEMPOTENT

    def sum(self, values: Iterable[Costs]) -> Costs:
        return tuple(nsmallest(self.k, {cost for value in values for cost in value}))

    def _first(self, ascending: Sequence[Number]) -> Costs:
        return super()._first(list(dict.fromkeys(ascending)))
