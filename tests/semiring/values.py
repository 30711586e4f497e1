"""Values of every semiring, for Hypothesis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from whence.semiring.base import Semiring
from whence.semiring.registry import make

AnySemiring = Semiring[Any]
Values = Callable[[AnySemiring], st.SearchStrategy[Any]]

shares = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 0.5])
whole = st.integers(0, 20) | st.integers(0, 2**62)
costs = whole | st.floats(0, 1e12) | st.just(math.inf)
eighths = st.integers(0, 200).map(lambda n: n if n % 8 == 0 else n / 8)
names = st.sampled_from(["p1", "p2", "p3", "p10", "link(1, 2)", 'name("a + b·c, {d}")'])
sets = st.frozensets(names, max_size=3)


def topk(semiring: AnySemiring) -> st.SearchStrategy[Any]:
    # Eighths add up exactly. Costs that only rounding tells apart would count as distinct.
    return st.lists(eighths, max_size=4).map(lambda costs: semiring.read(" ".join(map(str, costs))))


def polynomials(semiring: AnySemiring) -> st.SearchStrategy[Any]:
    monomials = st.dictionaries(names, st.integers(1, 3), max_size=3)
    terms = st.lists(st.tuples(monomials, st.integers(1, 3)), max_size=4)

    def made(drawn: list[tuple[dict[str, int], int]]) -> Any:
        return semiring.sum(
            frozenset({(tuple(sorted(monomial.items())), count)}) for monomial, count in drawn
        )

    return terms.map(made)


def formulas(semiring: AnySemiring) -> st.SearchStrategy[Any]:
    def made(terms: list[frozenset[str]]) -> Any:
        out = semiring.zero
        for term in terms:
            product = semiring.one
            for name in sorted(term):
                event = semiring.annotate(name, name if semiring.name == "absorption" else 0.5)
                product = semiring.times(product, event)
            out = semiring.plus(out, product)
        return out

    return st.lists(sets, max_size=4).map(made)


VALUES: dict[str, Values] = {
    "boolean": lambda s: st.booleans(),
    "tropical": lambda s: costs,
    "viterbi": lambda s: shares,
    "fuzzy": lambda s: shares,
    "lukasiewicz": lambda s: shares,
    "access": lambda s: costs | st.sampled_from([0, 1, 2, 3]),
    "minimax": lambda s: costs,
    "bottleneck": lambda s: costs,
    "visits": lambda s: costs | st.just(-math.inf),
    "counting": lambda s: whole | st.integers(0, 10**40),
    "counting-inf": lambda s: whole | st.integers(0, 10**40) | st.just(math.inf),
    "top-1": topk,
    "top-2": topk,
    "top-5": topk,
    "top-1-distinct": topk,
    "top-2-distinct": topk,
    "top-5-distinct": topk,
    "3-feature": lambda s: st.tuples(costs, costs, costs),
    "product(bottleneck,visits)": lambda s: st.tuples(costs, costs | st.just(-math.inf)),
    "product(tropical,fuzzy,boolean)": lambda s: st.tuples(costs, shares, st.booleans()),
    "which": lambda s: sets | st.none(),
    "why": lambda s: st.frozensets(sets, max_size=4),
    "minwhy": lambda s: st.frozensets(sets, max_size=4).map(s._bounded),
    "how": polynomials,
    "absorption": formulas,
    "probability": formulas,
}

MADE = {name: make(name) for name in VALUES}


def values(name: str) -> st.SearchStrategy[Any]:
    """Return values of the one instance of a semiring in `MADE`."""
    return VALUES[name](MADE[name])
