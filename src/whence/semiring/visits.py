"""The semiring (max, max) with a bottom: the most that is met on the best of all ways."""

from __future__ import annotations

import math
from collections.abc import Iterable

from whence.semiring.base import Cell, Law, Semiring
from whence.semiring.numeric import Number, at_least_zero, plain


class Visits(Semiring[Number]):
    """One visit is enough: a way passes a charging station when any part of it does.

    A derivation has the greatest number among its premises; of several derivations the greatest
    counts. Zero, the annotation of what is not there, lies below the number 0, which is one (there,
    and nothing met). 1 ⊕ a = a, so it is not absorptive: a detour may help. It is stable, since
    going round twice meets nothing new.
    """

    name = "visits"
    laws = Law.IDEMPOTENT | Law.SELECTIVE | Law.STABLE
    column = "float"
    zero: Number = -math.inf
    one: Number = 0

    def plus(self, a: Number, b: Number) -> Number:
        return a if a >= b else b

    def times(self, a: Number, b: Number) -> Number:
        if a < 0 or b < 0:
            return self.zero
        return a if a >= b else b

    def read(self, cell: Cell) -> Number:
        return self.zero if cell in ("-inf", -math.inf) else at_least_zero(cell)

    def show(self, value: Number) -> Number:
        return plain(value)

    def samples(self) -> Iterable[Number]:
        return (self.zero, self.one, 0.5, 1, 2, 7)

    def sum(self, values: Iterable[Number]) -> Number:
        return max(values, default=self.zero)
