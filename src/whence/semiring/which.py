"""Which-provenance, or lineage: all base facts that take part in any derivation of a fact."""

from __future__ import annotations

from collections.abc import Iterable

from whence.semiring.base import Cell, Law, Semiring
from whence.semiring.text import braces, by_size

Lineage = frozenset[str] | None
"""Names of base facts; None is zero, the lineage of what is not there."""


class Which(Semiring[Lineage]):
    """One set of names, which grows with every alternative (Cui, Widom and Wiener 2000)."""

    name = "which"
    laws = Law.IDEMPOTENT | Law.STABLE
    column = "symbol"
    zero: Lineage = None
    one: Lineage = frozenset()

    def plus(self, a: Lineage, b: Lineage) -> Lineage:
        if a is None or b is None:
            return b if a is None else a
        return a | b

    def times(self, a: Lineage, b: Lineage) -> Lineage:
        return None if a is None or b is None else a | b

    def variable(self, fact: str) -> Lineage:
        return frozenset((fact,))

    def read(self, cell: Cell) -> Lineage:
        text = str(cell).strip()
        if text in ("0", "1"):
            return self.one if text == "1" else self.zero
        if not text.startswith("{"):
            return self.variable(text)
        sets = braces(text)
        if len(sets) != 1:
            raise ValueError(f"`{text}` is not one set in braces")
        return sets[0]

    def show(self, value: Lineage) -> str:
        return "0" if value is None else "{" + ",".join(by_size([value])[0]) + "}"

    def sum(self, values: Iterable[Lineage]) -> Lineage:
        there = [value for value in values if value is not None]
        return frozenset().union(*there) if there else None
