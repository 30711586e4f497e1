"""How-provenance: polynomials with natural coefficients over base facts, N[X].

Each monomial is a set of derivations that use the same facts equally often; the coefficient says
how many (Green, Karvounarakis and Tannen 2007). Every commutative semiring is an image of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from whence.semiring.base import Cell, Law, Semiring
from whence.semiring.budget import TERMS, too_many_terms
from whence.semiring.numeric import digits
from whence.semiring.text import NaturalKey, natural, pieces

T = TypeVar("T")

Monomial = tuple[tuple[str, int], ...]
"""Variables in order with their exponents from 1; the empty one is the constant."""
Polynomial = frozenset[tuple[Monomial, int]]
"""Monomials with their coefficients from 1."""

_TO_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_FROM_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_HIGHEST_POWER = 1_000_000
_POWER = re.compile(r"(.*?)(?:([⁰¹²³⁴⁵⁶⁷⁸⁹]+)|\^(\d+))?", re.DOTALL)


class How(Semiring[Polynomial]):
    """Polynomials, exact, of up to `budget` monomials."""

    name = "how"
    laws = Law.NONE
    column = "symbol"
    zero: Polynomial = frozenset()
    one: Polynomial = frozenset({((), 1)})

    def __init__(self, budget: int = TERMS) -> None:
        self.budget = budget

    def plus(self, a: Polynomial, b: Polynomial) -> Polynomial:
        return self.sum((a, b))

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if a == self.one or b == self.one:
            return b if a == self.one else a
        out: dict[Monomial, int] = {}
        for m, c in a:
            for n, d in b:
                both = _multiplied(m, n)
                out[both] = out.get(both, 0) + c * d
            self._check(out)
        return frozenset(out.items())

    def sum(self, values: Iterable[Polynomial]) -> Polynomial:
        out: dict[Monomial, int] = {}
        for value in values:
            for monomial, coefficient in value:
                out[monomial] = out.get(monomial, 0) + coefficient
            self._check(out)
        return frozenset(out.items())

    def variable(self, fact: str) -> Polynomial:
        return frozenset({(((fact, 1),), 1)})

    def read(self, cell: Cell) -> Polynomial:
        """Return the polynomial in a cell: numerals are constants, other words are variables."""
        if isinstance(cell, int):
            return self._constant(cell)
        return self.sum(self._monomial(part) for part in pieces(str(cell), "+"))

    def show(self, value: Polynomial) -> str:
        """Return the polynomial in a stable order, such as `p1·p2 + 2·p3²`."""
        return " + ".join(_shown(m, c) for m, c in sorted(value, key=_order)) or "0"

    def _monomial(self, text: str) -> Polynomial:
        out = self.one
        for factor in pieces(text, "·"):
            matched = _POWER.fullmatch(factor)
            base, up, caret = matched.groups() if matched else (factor, None, None)
            if not base:
                raise ValueError(f"`{text}` is no product of variables")
            exponent = int((up or caret or "1").translate(_FROM_SUPERSCRIPT))
            if exponent > _HIGHEST_POWER:
                raise ValueError(f"`{factor}` is raised to more than {_HIGHEST_POWER}")
            if base.isascii() and base.isdigit():
                out = self.times(out, self._constant(int(base) ** exponent))
            elif exponent:
                out = self.times(out, frozenset({(((base, exponent),), 1)}))
        return out

    def _constant(self, value: int) -> Polynomial:
        if value < 0:
            raise ValueError(f"`{value}` is negative")
        return frozenset({((), value)}) if value else self.zero

    def _check(self, terms: dict[Monomial, int]) -> None:
        if len(terms) > self.budget:
            raise too_many_terms(self.name, self.budget)


def specialise(value: Polynomial, semiring: Semiring[T], meaning: Callable[[str], T]) -> T:
    """Return what a polynomial comes to when its variables get values of another semiring.

    >>> from whence.semiring.tropical import Tropical
    >>> specialise(How().read("a·b + 2·c²"), Tropical(), {"a": 1, "b": 2, "c": 5}.__getitem__)
    3
    """

    def term(monomial: Monomial, coefficient: int) -> T:
        out = semiring.one
        for name, exponent in monomial:
            out = semiring.times(out, power(semiring, meaning(name), exponent))
        return multiple(semiring, out, coefficient)

    return semiring.sum(term(monomial, coefficient) for monomial, coefficient in value)


def power(semiring: Semiring[T], value: T, exponent: int) -> T:
    """Return the product of `exponent` copies of a value."""
    return _repeated(semiring.times, semiring.one, value, exponent)


def multiple(semiring: Semiring[T], value: T, count: int) -> T:
    """Return the sum of `count` copies of a value."""
    return _repeated(semiring.plus, semiring.zero, value, count)


def _repeated(operation: Callable[[T, T], T], neutral: T, value: T, times: int) -> T:
    out = neutral
    while times:
        if times & 1:
            out = operation(out, value)
        times >>= 1
        if times:
            value = operation(value, value)
    return out


def _multiplied(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    out = dict(a)
    for name, exponent in b:
        out[name] = out.get(name, 0) + exponent
    return tuple(sorted(out.items()))


def _order(term: tuple[Monomial, int]) -> tuple[int, list[tuple[NaturalKey, int]]]:
    monomial, _ = term
    degree = sum(exponent for _, exponent in monomial)
    return degree, sorted((natural(name), -exponent) for name, exponent in monomial)


def _shown(monomial: Monomial, coefficient: int) -> str:
    factors = [] if coefficient == 1 and monomial else [digits(coefficient)]
    for name, exponent in sorted(monomial, key=lambda factor: natural(factor[0])):
        raised = str(exponent).translate(_TO_SUPERSCRIPT) if exponent > 1 else ""
        factors.append(name + raised)
    return "·".join(factors)
