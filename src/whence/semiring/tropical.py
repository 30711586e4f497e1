"""The tropical semiring (min, +) on numbers from 0: the cost of a cheapest derivation."""

from __future__ import annotations

import math
from collections.abc import Iterable

from whence.semiring.base import Cell, Chain, Semiring, Times
from whence.semiring.numeric import OF_CHAINS, Number, at_least_zero, plain


class Tropical(Semiring[Number]):
    """Costs add up along a derivation and the cheapest counts. Whole costs stay exact.

    Negative costs are refused: with them 1 ⊕ a = 1 fails, and a cycle may get cheaper for ever.
    """

    name = "tropical"
    laws = OF_CHAINS
    column = "float"
    zero: Number = math.inf
    one: Number = 0

    def plus(self, a: Number, b: Number) -> Number:
        return a if a <= b else b

    def times(self, a: Number, b: Number) -> Number:
        return a + b

    def read(self, cell: Cell) -> Number:
        return at_least_zero(cell)

    def show(self, value: Number) -> Number:
        return plain(value)

    @property
    def chain(self) -> Chain:
        return Chain(Times.ADD, least=True, one=0.0, zero=math.inf)

    def samples(self) -> Iterable[Number]:
        return (self.zero, self.one, 0.5, 1, 2, 7)

    def sum(self, values: Iterable[Number]) -> Number:
        return min(values, default=self.zero)
