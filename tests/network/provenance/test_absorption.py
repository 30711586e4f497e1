"""Absorption provenance: products, sums and diagrams are the same functions, also on the wire."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.diagnostics import LimitError
from whence.network.model import Annotation, Host
from whence.network.provenance import wire
from whence.network.provenance.absorption import Absorption


@dataclass
class Named:
    """As much of a processor as a scheme looks at."""

    name: str
    peers: list[str] = field(default_factory=list)


def _scheme(name: str = "a", *, limit: int = 24, budget: int = 250_000) -> Absorption:
    scheme = Absorption(limit=limit, budget=budget)
    scheme.attach(cast("Host", Named(name, [other for other in "abc" if other != name])))
    return scheme


Products = frozenset[frozenset[int]]
SUMS = st.sets(st.frozensets(st.integers(0, 5), min_size=1), min_size=1, max_size=6)


def _absorbed(products: set[frozenset[int]]) -> Products:
    return frozenset(p for p in products if not any(q < p for q in products))


class Built:
    """Functions of six base tuples, by the scheme and as sets of sets."""

    def __init__(self, scheme: Absorption) -> None:
        self.scheme = scheme
        self.base = [scheme.base("r", (i,)) for i in range(6)]
        self.numbers = [cast("int", scheme.variable(one)) for one in self.base]

    def function(self, products: set[frozenset[int]]) -> Annotation:
        total: Annotation = None
        for product in sorted(products, key=sorted):
            premises = [("r", (i,), self.base[i]) for i in sorted(product)]
            one = self.scheme.derive("rule", ("h", ()), premises)
            total, _ = self.scheme.merge("h", (), total, one)
        return total

    def products(self, annotation: Annotation) -> Products:
        index = {number: i for i, number in enumerate(self.numbers)}
        return frozenset(frozenset(index[n] for n in p) for p in self.scheme.products(annotation))


LIMITS = st.sampled_from([0, 2, 24])  # diagrams always, soon, and not at all


@given(LIMITS, SUMS, SUMS)
def test_conjunction_and_disjunction_absorb(
    limit: int, a: set[frozenset[int]], b: set[frozenset[int]]
) -> None:
    built = Built(_scheme(limit=limit))
    left, right = built.function(a), built.function(b)
    assert built.products(left) == _absorbed(a)
    conjunction = built.scheme.derive("rule", ("h", ()), [("l", (), left), ("r", (), right)])
    assert built.products(conjunction) == _absorbed({p | q for p in a for q in b})
    total, news = built.scheme.merge("h", (), left, right)
    assert built.products(total) == _absorbed(a | b)
    assert (news is None) == (_absorbed(a | b) == _absorbed(a))
    if news is not None:
        again, _ = built.scheme.merge("h", (), left, news)
        assert built.products(again) == _absorbed(a | b)


@given(LIMITS, SUMS, st.sets(st.integers(0, 5)))
def test_what_needs_a_false_variable_goes(
    limit: int, a: set[frozenset[int]], gone: set[int]
) -> None:
    built = Built(_scheme(limit=limit))
    annotation = built.function(a)
    dead = built.scheme.kill([built.numbers[i] for i in gone])
    left = built.scheme.restrict(annotation, dead)
    expected = _absorbed({p for p in a if not p & gone})
    assert (left is None) == (not expected)
    if left is not None:
        assert built.products(left) == expected


@given(LIMITS, LIMITS, SUMS, st.sets(st.integers(0, 5)))
def test_a_message_that_comes_late_is_cleared_of_what_is_false(
    limit: int, other: int, a: set[frozenset[int]], gone: set[int]
) -> None:
    built = Built(_scheme("a", limit=limit))
    there = _scheme("b", limit=other)
    packed = built.scheme.encode(built.function(a))
    assert built.scheme.size(built.function(a)) == len(cast("bytes", packed))
    there.base("elsewhere", ())  # so that bits differ
    there.kill([built.numbers[i] for i in gone])
    arrived = there.arrive(there.decode(packed))
    expected = _absorbed({p for p in a if not p & gone})
    assert (arrived is None) == (not expected)
    if arrived is not None:
        named = frozenset(frozenset(built.numbers[i] for i in p) for p in expected)
        assert there.products(arrived) == named


def test_a_queued_derivation_from_a_false_premise_is_none() -> None:
    built = Built(_scheme())
    built.scheme.kill([built.numbers[0]])
    assert built.scheme.derive("rule", ("h", ()), [("r", (0,), built.base[0])]) is None
    assert built.scheme.merge("h", (), built.base[1], built.base[0]) == (built.base[1], None)


def test_bits_are_used_again_and_numbers_never() -> None:
    scheme = _scheme()
    numbers = set()
    for _ in range(1000):
        annotation = scheme.base("r", ())
        assert cast("int", annotation).bit_length() <= 2
        numbers.add(scheme.variable(annotation))
        scheme.kill([scheme.variable(annotation)])
        scheme.settle()
    assert len(numbers) == 1000
    assert all(scheme.variables.dead(cast("int", number)) for number in numbers)
    assert not scheme.kill(numbers)


def test_processors_number_their_variables_apart() -> None:
    made = [
        scheme.variable(scheme.base("r", ())) for scheme in map(_scheme, "abc") for _ in "12345"
    ]
    assert len(set(made)) == 15


def test_a_function_with_shared_parts_is_sent_as_a_diagram_and_one_without_as_products() -> None:
    built = Built(_scheme(limit=0))
    # (0 or 1) and (2 or 3) and (4 or 5): eight products, six nodes.
    pairs = {frozenset({i, j, k}) for i in (0, 1) for j in (2, 3) for k in (4, 5)}
    assert wire.is_diagram(cast("bytes", built.scheme.encode(built.function(pairs))))
    path = built.scheme.encode(built.function({frozenset(range(6))}))
    assert wire.is_product(cast("bytes", path)) or len(cast("bytes", path)) == 8


def test_more_nodes_than_the_budget_are_refused_and_the_way_out_is_told() -> None:
    scheme = _scheme(limit=0, budget=64)
    base = [scheme.base("r", (i,)) for i in range(40)]
    total: Annotation = None
    with pytest.raises(LimitError, match=r"W1440.*more than 64 nodes"):
        for i in range(20):
            one = scheme.derive("rule", ("h", ()), [("r", (), base[i]), ("r", (), base[39 - i])])
            total, _ = scheme.merge("h", (), total, one)
