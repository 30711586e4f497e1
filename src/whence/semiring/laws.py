"""The laws as equations that can be checked on values: those of commutative semirings, and claims.

Equality is exact but for the associativity of products, where floats round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from whence.semiring.base import Chain, Law, Semiring, Times

AnySemiring = Semiring[Any]
Equation = Callable[[AnySemiring, Any, Any, Any], tuple[Any, Any]]
"""The two sides for values a, b and c."""

TOLERANCE = 1e-9
"""How far products of floats may lie apart, relative to their size, when they round differently."""
ROUNDS = 1000
"""How many powers of a value may add something, for it to pass as stable."""
MOST_SAMPLES = 12

SEMIRING: dict[str, Equation] = {
    "a ⊕ b = b ⊕ a": lambda s, a, b, c: (s.plus(a, b), s.plus(b, a)),
    "(a ⊕ b) ⊕ c = a ⊕ (b ⊕ c)": lambda s, a, b, c: (
        s.plus(s.plus(a, b), c),
        s.plus(a, s.plus(b, c)),
    ),
    "a ⊕ 0 = a": lambda s, a, b, c: (s.plus(a, s.zero), a),
    "a ⊗ b = b ⊗ a": lambda s, a, b, c: (s.times(a, b), s.times(b, a)),
    "(a ⊗ b) ⊗ c = a ⊗ (b ⊗ c)": lambda s, a, b, c: (
        s.times(s.times(a, b), c),
        s.times(a, s.times(b, c)),
    ),
    "a ⊗ 1 = a": lambda s, a, b, c: (s.times(a, s.one), a),
    "a ⊗ 0 = 0": lambda s, a, b, c: (s.times(a, s.zero), s.zero),
    "a ⊗ (b ⊕ c) = a ⊗ b ⊕ a ⊗ c": lambda s, a, b, c: (
        s.times(a, s.plus(b, c)),
        s.plus(s.times(a, b), s.times(a, c)),
    ),
    "sum(a, b, c) = a ⊕ b ⊕ c": lambda s, a, b, c: (
        s.sum((a, b, c)),
        s.plus(s.plus(a, b), c),
    ),
}
"""What holds in every one."""

ROUNDED = "(a ⊗ b) ⊗ c = a ⊗ (b ⊗ c)"
"""The one equation that floats keep only nearly: minima and maxima are exact, and as products are
monotone, they distribute exactly."""

CLAIMS: tuple[tuple[Law, str, Equation], ...] = (
    (Law.IDEMPOTENT, "a ⊕ a = a", lambda s, a, b, c: (s.plus(a, a), a)),
    (Law.ABSORPTIVE, "1 ⊕ a = 1", lambda s, a, b, c: (s.plus(s.one, a), s.one)),
    (Law.SELECTIVE, "a ⊕ b is a or b", lambda s, a, b, c: _selected(s.plus(a, b), a, b)),
    (Law.STABLE, "1 ⊕ a ⊕ a² ⊕ … comes to an end", lambda s, a, b, c: _powers(s, a)),
)
"""What holds in those that claim it. With every value stable, so is every program over a finite
instance (Abo Khamis, Ngo, Pichler, Suciu and Wang 2022)."""

TIMES: dict[Times, Callable[[float, float], float]] = {
    Times.ADD: lambda a, b: a + b,
    Times.MULTIPLY: lambda a, b: a * b,
    Times.LEAST: min,
    Times.GREATEST: max,
    Times.BOUNDED: lambda a, b: max(0.0, min(a, b) - (1.0 - max(a, b))),
}


@dataclass(frozen=True, slots=True)
class Violation:
    """An equation that does not hold, for values that show it."""

    law: str
    values: tuple[Any, ...]
    left: Any
    right: Any

    def __str__(self) -> str:
        pairs = zip("abc", self.values, strict=False)
        named = ", ".join(f"{letter} = {value!r}" for letter, value in pairs if letter in self.law)
        return f"{self.law} fails for {named}: {self.left!r} is not {self.right!r}"


def violation(semiring: AnySemiring, a: Any, b: Any, c: Any) -> Violation | None:
    """Return the first law of a semiring that three of its values break, None if they keep all."""
    for law, equation in SEMIRING.items():
        left, right = equation(semiring, a, b, c)
        same = close(left, right) if law == ROUNDED else left == right
        if not same:
            return Violation(law, (a, b, c), left, right)
    for claim, law, equation in CLAIMS:
        if claim in semiring.laws:
            left, right = equation(semiring, a, b, c)
            if left != right:
                return Violation(law, (a, b), left, right)
    return None


def chain_violation(semiring: AnySemiring, a: Any, b: Any) -> Violation | None:
    """Return where the numbers of a chain do something else than the semiring that has it."""
    chain = semiring.chain
    if chain is None:
        return None
    for claim in (Law.ABSORPTIVE, Law.SELECTIVE):
        if claim not in semiring.laws:
            return Violation(f"a chain is {claim.name}".lower(), (), semiring.laws, claim)
    if (semiring.zero, semiring.one) != (chain.zero, chain.one):
        neutral = (semiring.zero, semiring.one)
        return Violation("0 and 1 are those of the chain", (), neutral, (chain.zero, chain.one))
    left, right = semiring.plus(a, b), min(a, b) if chain.least else max(a, b)
    if left != right:
        return Violation("a ⊕ b is that of the chain", (a, b), left, right)
    left, right = semiring.times(a, b), times_of(chain, a, b)
    return (
        None if close(left, right) else Violation("a ⊗ b is that of the chain", (a, b), left, right)
    )


def times_of(chain: Chain, a: float, b: float) -> float:
    """Return the product of two numbers of a chain."""
    return TIMES[chain.times](a, b)


def first_violation(semiring: AnySemiring, values: Iterable[Any]) -> Violation | None:
    """Return a broken law among all triples of some values, None if there is none."""
    values = list(islice(values, MOST_SAMPLES))
    for a, b, c in product(values, repeat=3):
        found = violation(semiring, a, b, c)
        if found:
            return found
    for a, b in product(values, repeat=2):
        found = chain_violation(semiring, a, b)
        if found:
            return found
    return None


def close(left: Any, right: Any) -> bool:
    """Return whether two values are equal but for the rounding of floats in them."""
    if isinstance(left, float) or isinstance(right, float):
        try:
            return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        except TypeError:
            return bool(left == right)
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        return all(map(close, left, right))
    return bool(left == right)


def _selected(total: Any, a: Any, b: Any) -> tuple[Any, Any]:
    return total, a if total == a else b


def _powers(semiring: AnySemiring, a: Any) -> tuple[Any, Any]:
    before = semiring.zero
    for _ in range(ROUNDS):
        after = semiring.plus(semiring.one, semiring.times(a, before))
        if after == before:
            break
        before = after
    return before, semiring.plus(semiring.one, semiring.times(a, before))
