"""The Viterbi semiring (max, ×) on [0, 1]: how likely the most likely derivation is."""

from __future__ import annotations

from collections.abc import Iterable

from whence.semiring.base import Cell, Chain, Semiring, Times
from whence.semiring.numeric import OF_CHAINS, Number, plain, share


class Viterbi(Semiring[float]):
    """Confidences multiply along a derivation and the highest counts.

    It is no probability of the fact, which has more than one derivation: see `probability`.
    """

    name = "viterbi"
    laws = OF_CHAINS
    column = "float"
    zero = 0.0
    one = 1.0

    def plus(self, a: float, b: float) -> float:
        return a if a >= b else b

    def times(self, a: float, b: float) -> float:
        return a * b

    def read(self, cell: Cell) -> float:
        return share(cell)

    def show(self, value: float) -> Number:
        return plain(value)

    @property
    def chain(self) -> Chain:
        return Chain(Times.MULTIPLY, least=False, one=1.0, zero=0.0)

    def samples(self) -> Iterable[float]:
        return (self.zero, self.one, 0.25, 0.5, 0.9)

    def sum(self, values: Iterable[float]) -> float:
        return max(values, default=self.zero)
