"""Why-provenance: for each derivation of a fact the set of base facts that it uses, its witness."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from whence.semiring.base import Cell, Law, Semiring
from whence.semiring.budget import TERMS, too_many_terms
from whence.semiring.text import braces, by_size

Witnesses = frozenset[frozenset[str]]


class Why(Semiring[Witnesses]):
    """The witness basis (Buneman, Khanna and Tan 2001): sets of names, minimal or not."""

    name = "why"
    laws = Law.IDEMPOTENT | Law.STABLE
    column = "symbol"
    zero: Witnesses = frozenset()
    one: Witnesses = frozenset((frozenset(),))

    def __init__(self, budget: int = TERMS) -> None:
        self.budget = budget

    def plus(self, a: Witnesses, b: Witnesses) -> Witnesses:
        return self._bounded(a | b)

    def times(self, a: Witnesses, b: Witnesses) -> Witnesses:
        out: set[frozenset[str]] = set()
        for x in a:
            out.update([x | y for y in b])
            if len(out) > self.budget:
                out = self._reduced(out)
                if len(out) > self.budget:
                    raise too_many_terms(self.name, self.budget)
        return self._bounded(out)

    def variable(self, fact: str) -> Witnesses:
        return frozenset((frozenset((fact,)),))

    def read(self, cell: Cell) -> Witnesses:
        text = str(cell).strip()
        if text in ("0", "1"):
            return self.one if text == "1" else self.zero
        return self._bounded(braces(text)) if text.startswith("{") else self.variable(text)

    def show(self, value: Witnesses) -> str:
        return " ".join("{" + ",".join(names) + "}" for names in by_size(value)) or "0"

    def sum(self, values: Iterable[Witnesses]) -> Witnesses:
        return self._bounded(chain.from_iterable(values))

    def _bounded(self, sets: Iterable[frozenset[str]]) -> Witnesses:
        found = frozenset(self._reduced(set(sets)))
        if len(found) > self.budget:
            raise too_many_terms(self.name, self.budget)
        return found

    def _reduced(self, sets: set[frozenset[str]]) -> set[frozenset[str]]:
        return sets


class MinWhy(Why):
    """The minimal witnesses only: a witness that contains another says nothing new.

    It is the algebra of `absorption` with all witnesses written out, PosBool[X] in minimal form.
    """

    name = "minwhy"
    laws = Law.IDEMPOTENT | Law.ABSORPTIVE | Law.STABLE

    def _reduced(self, sets: set[frozenset[str]]) -> set[frozenset[str]]:
        out: list[frozenset[str]] = []
        for candidate in sorted(sets, key=len):
            if not any(kept <= candidate for kept in out):
                out.append(candidate)
        return set(out)
