"""The semiring (min, max) on numbers from 0: a derivation is as bad as its worst premise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from whence.semiring.base import Cell, Chain, Semiring, Times
from whence.semiring.numeric import OF_CHAINS, Number, at_least_zero, plain


class Minimax(Semiring[Number]):
    """What a derivation demands at its most demanding premise; one dimension of k-feature."""

    name = "minimax"
    laws = OF_CHAINS
    column: Literal["number", "float", "symbol"] = "float"
    zero: Number = math.inf
    one: Number = 0

    def plus(self, a: Number, b: Number) -> Number:
        return a if a <= b else b

    def times(self, a: Number, b: Number) -> Number:
        return a if a >= b else b

    def read(self, cell: Cell) -> Number:
        return at_least_zero(cell)

    def show(self, value: Number) -> Cell:
        return plain(value)

    @property
    def chain(self) -> Chain:
        return Chain(Times.GREATEST, least=True, one=0.0, zero=math.inf)

    def samples(self) -> Iterable[Number]:
        return (self.zero, self.one, 0.5, 1, 2, 7)

    def sum(self, values: Iterable[Number]) -> Number:
        return min(values, default=self.zero)
