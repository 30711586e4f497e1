"""The Łukasiewicz semiring (max, max(0, a + b - 1)) on [0, 1]: doubts add up along a derivation."""

from __future__ import annotations

from collections.abc import Iterable

from whence.semiring.base import Cell, Chain, Semiring, Times
from whence.semiring.numeric import OF_CHAINS, Number, plain, share


class Lukasiewicz(Semiring[float]):
    """Degrees of truth that lose, with each premise, what that premise lacks to be true."""

    name = "lukasiewicz"
    laws = OF_CHAINS
    column = "float"
    zero = 0.0
    one = 1.0

    def plus(self, a: float, b: float) -> float:
        return a if a >= b else b

    def times(self, a: float, b: float) -> float:
        # Rounded once: (a + 1) - 1 may be above a, and going round a cycle would pay.
        return max(0.0, min(a, b) - (1.0 - max(a, b)))

    def read(self, cell: Cell) -> float:
        return share(cell)

    def show(self, value: float) -> Number:
        return plain(value)

    @property
    def chain(self) -> Chain:
        return Chain(Times.BOUNDED, least=False, one=1.0, zero=0.0)

    def samples(self) -> Iterable[float]:
        return (self.zero, self.one, 0.25, 0.5, 0.9)

    def sum(self, values: Iterable[float]) -> float:
        return max(values, default=self.zero)
