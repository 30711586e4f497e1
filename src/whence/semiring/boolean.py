"""The Boolean semiring (or, and): whether a fact holds at all, which is plain Datalog."""

from __future__ import annotations

from collections.abc import Iterable

from whence.semiring.base import Cell, Chain, Semiring, Times
from whence.semiring.numeric import OF_CHAINS, number


class Boolean(Semiring[bool]):
    """A fact holds when one of its derivations does, a derivation when all of its premises do."""

    name = "boolean"
    laws = OF_CHAINS
    column = "number"
    zero = False
    one = True

    def plus(self, a: bool, b: bool) -> bool:
        return a or b

    def times(self, a: bool, b: bool) -> bool:
        return a and b

    def read(self, cell: Cell) -> bool:
        word = cell.strip().lower() if isinstance(cell, str) else cell
        if word in ("true", "false"):
            return word == "true"
        value = number(cell)
        if value not in (0, 1):
            raise ValueError(f"`{cell}` is neither 0 nor 1")
        return bool(value)

    def show(self, value: bool) -> int:
        return int(value)

    @property
    def chain(self) -> Chain:
        return Chain(Times.LEAST, least=False, one=1.0, zero=0.0)

    def samples(self) -> Iterable[bool]:
        return (False, True)

    def sum(self, values: Iterable[bool]) -> bool:
        return any(values)
