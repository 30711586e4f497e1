"""The probability of a fact whose base facts hold independently, each with its own probability.

Annotations are events, kept as Boolean functions of base facts; what is shown is the exact weighted
model count (Sang, Beame and Kautz 2005; on diagrams Darwiche and Marquis 2002), but for rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from whence.semiring.base import Cell, Law, Semiring
from whence.semiring.bdd import NODES, Diagrams, Formula
from whence.semiring.numeric import Number, plain, share

if TYPE_CHECKING:
    from oxidd.bdd import BDDFunction

_KEPT = 200_000


class Probability(Semiring[Formula]):
    """Events. A fact with a probability is an event of its own, one without is certain."""

    name = "probability"
    laws = Law.IDEMPOTENT | Law.ABSORPTIVE | Law.STABLE
    column = "float"

    def __init__(self, nodes: int = NODES) -> None:
        self.diagrams = Diagrams(nodes)
        self.zero = self.diagrams.false
        self.one = self.diagrams.true
        self._weights: list[float] = []
        self._counted: dict[BDDFunction, float] = {}
        self._anonymous = 0

    def plus(self, a: Formula, b: Formula) -> Formula:
        return self.diagrams.either(a, b)

    def times(self, a: Formula, b: Formula) -> Formula:
        return self.diagrams.both(a, b)

    def annotate(self, fact: str, cell: Cell) -> Formula:
        """Return the event of a fact; a fact given with two probabilities is two events."""
        return self._event((fact,), share(cell))

    def check(self, cell: Cell) -> None:
        share(cell)

    def read(self, cell: Cell) -> Formula:
        """Return an event of that probability which is independent of all others."""
        self._anonymous += 1
        return self._event((self._anonymous,), share(cell))

    def samples(self) -> Iterable[Formula]:
        a, b = self.annotate("a", 0.5), self.annotate("b", 0.5)
        return (self.zero, self.one, a, b, self.plus(a, b), self.times(a, b))

    def show(self, value: Formula) -> Number:
        """Return the probability of an event."""
        return plain(self.probability(value))

    def probability(self, value: Formula) -> float:
        """Return the probability of an event as a float."""
        # What is kept holds nodes of the diagrams, so it must not grow without bound.
        if len(self._counted) > _KEPT:
            self._counted.clear()
        return self.diagrams.probability(value, self._weights, self._counted)

    def _event(self, label: tuple[object, ...], weight: float) -> Formula:
        if weight in (0.0, 1.0):
            return self.one if weight else self.zero
        event = self.diagrams.variable((*label, weight))
        if len(self.diagrams.labels) > len(self._weights):
            self._weights.append(weight)
        return event
