"""The bottleneck semiring (max, min) on numbers from 0: what the widest derivation allows."""

from __future__ import annotations

import math
from collections.abc import Iterable

from whence.semiring.base import Cell, Chain, Semiring, Times
from whence.semiring.numeric import OF_CHAINS, Number, at_least_zero, plain


class Bottleneck(Semiring[Number]):
    """Heights, widths, bandwidths: a way allows what its narrowest part allows.

    No limit is ∞ and the best there is; what allows 0 is not there.
    """

    name = "bottleneck"
    laws = OF_CHAINS
    column = "float"
    zero: Number = 0
    one: Number = math.inf

    def plus(self, a: Number, b: Number) -> Number:
        return a if a >= b else b

    def times(self, a: Number, b: Number) -> Number:
        return a if a <= b else b

    def read(self, cell: Cell) -> Number:
        return at_least_zero(cell)

    def show(self, value: Number) -> Number:
        return plain(value)

    @property
    def chain(self) -> Chain:
        return Chain(Times.LEAST, least=False, one=math.inf, zero=0.0)

    def samples(self) -> Iterable[Number]:
        return (self.zero, self.one, 0.5, 1, 2, 7)

    def sum(self, values: Iterable[Number]) -> Number:
        return max(values, default=self.zero)
