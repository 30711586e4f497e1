"""Absorption provenance, PosBool[X]: monotone Boolean functions of facts, on decision diagrams.

p1 ∨ p1·p2 is p1: what a derivation adds to a smaller one is absorbed (Liu et al. 2009, section 4).
"""

from __future__ import annotations

from whence.semiring.base import Cell, Law, Semiring
from whence.semiring.bdd import NODES, Diagrams, Formula
from whence.semiring.budget import TERMS
from whence.semiring.text import by_size, pieces


class Absorption(Semiring[Formula]):
    """Functions are equal when they are true of the same sets of facts.

    `nodes` bounds the diagrams, `budget` the terms that a function may have when it is shown.
    """

    name = "absorption"
    laws = Law.IDEMPOTENT | Law.ABSORPTIVE | Law.STABLE
    column = "symbol"

    def __init__(self, nodes: int = NODES, budget: int = TERMS) -> None:
        self.budget = budget
        self.diagrams = Diagrams(nodes)
        self.zero = self.diagrams.false
        self.one = self.diagrams.true

    def plus(self, a: Formula, b: Formula) -> Formula:
        return self.diagrams.either(a, b)

    def times(self, a: Formula, b: Formula) -> Formula:
        return self.diagrams.both(a, b)

    def variable(self, fact: str) -> Formula:
        return self.diagrams.variable(fact)

    def read(self, cell: Cell) -> Formula:
        """Return the function in a cell: a name, 0, 1, or what `show` writes."""
        return self.sum(self._term(term) for term in pieces(str(cell), "∨"))

    def show(self, value: Formula) -> str:
        """Return the prime implicants, small ones first, such as `p2·p4 ∨ p1·p2·p3`."""
        terms = by_size(self.witnesses(value))
        return " ∨ ".join("·".join(names) or "1" for names in terms) or "0"

    def witnesses(self, value: Formula) -> set[frozenset[str]]:
        """Return the minimal sets of facts of which the function is true."""
        labels = self.diagrams.labels
        primes = self.diagrams.primes(value, self.budget)
        return {frozenset(str(labels[number]) for number in prime) for prime in primes}

    def _term(self, text: str) -> Formula:
        out = self.one
        for name in pieces(text, "·"):
            if not name:
                raise ValueError(f"`{text}` is no product of names")
            if name != "1":
                out = self.times(out, self.zero if name == "0" else self.variable(name))
        return out
