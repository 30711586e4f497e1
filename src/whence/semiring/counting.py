"""Counting (+, ×): how many derivations a fact has, counted exactly; and the same with ∞."""

from __future__ import annotations

import math
from collections.abc import Iterable

from whence.semiring.base import Cell, Law, Semiring
from whence.semiring.numeric import Number, digits, number


class Counting(Semiring[int]):
    """Natural numbers of any size. What a cycle derives over and over has no count: see below."""

    name = "counting"
    laws = Law.NONE
    column = "number"
    zero = 0
    one = 1

    def plus(self, a: int, b: int) -> int:
        return a + b

    def times(self, a: int, b: int) -> int:
        return a * b

    def read(self, cell: Cell) -> int:
        value = number(cell)
        if not isinstance(value, int) or value < 0:
            raise ValueError(f"`{cell}` is no whole number from 0")
        return value

    def show(self, value: int) -> int:
        return value

    def samples(self) -> Iterable[int]:
        return (0, 1, 2, 3, 10)

    def sum(self, values: Iterable[int]) -> int:
        return sum(values)


class CountingInf(Semiring[Number]):
    """Natural numbers and ∞, which is the count of what a cycle derives over and over.

    0 · ∞ is 0: what is not there does not derive anything, however often. Counts are shown as text,
    since no column of numbers holds both large counts and ∞.
    """

    name = "counting-inf"
    laws = Law.NONE
    column = "symbol"
    zero: Number = 0
    one: Number = 1

    def plus(self, a: Number, b: Number) -> Number:
        # Not a + b: an integer that is no float cannot be added to ∞.
        return math.inf if math.inf in (a, b) else a + b

    def times(self, a: Number, b: Number) -> Number:
        if a == 0 or b == 0:
            return 0
        return math.inf if math.inf in (a, b) else a * b

    def read(self, cell: Cell) -> Number:
        value = number(cell)
        if value < 0 or (not isinstance(value, int) and value != math.inf):
            raise ValueError(f"`{cell}` is neither a whole number from 0 nor ∞")
        return value

    def show(self, value: Number) -> str:
        return digits(value) if isinstance(value, int) else str(value)

    def samples(self) -> Iterable[Number]:
        return (0, 1, 2, 3, math.inf)

    @property
    def infinite(self) -> Number:
        return math.inf
