"""The fuzzy semiring (max, min) on [0, 1]: a derivation is as true as its weakest premise."""

from __future__ import annotations

from collections.abc import Iterable

from whence.semiring.base import Cell, Chain, Semiring, Times
from whence.semiring.numeric import OF_CHAINS, Number, plain, share


class Fuzzy(Semiring[float]):
    """Degrees of truth after Zadeh: the least along a derivation, the greatest over all of them."""

    name = "fuzzy"
    laws = OF_CHAINS
    column = "float"
    zero = 0.0
    one = 1.0

    def plus(self, a: float, b: float) -> float:
        return a if a >= b else b

    def times(self, a: float, b: float) -> float:
        return a if a <= b else b

    def read(self, cell: Cell) -> float:
        return share(cell)

    def show(self, value: float) -> Number:
        return plain(value)

    @property
    def chain(self) -> Chain:
        return Chain(Times.LEAST, least=False, one=1.0, zero=0.0)

    def samples(self) -> Iterable[float]:
        return (self.zero, self.one, 0.25, 0.5, 0.9)

    def sum(self, values: Iterable[float]) -> float:
        return max(values, default=self.zero)
