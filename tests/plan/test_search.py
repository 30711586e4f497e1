"""Which recursions are a search."""

from __future__ import annotations

import pytest

from whence import session
from whence.plan.build import plan_stratum
from whence.plan.nodes import Combine, Search

DECLS = """
.decl e(x: number, y: number, w: float)
.decl n(x: number)
.decl p(x: number, y: number, c: float)
.decl q(y: number, c: float)
.decl t(k: symbol, x: number, y: number, c: float)
p(x, y, a) <= p(x, y, b) :- b <= a.
q(y, a) <= q(y, b) :- b >= a.
t(k, x, y, a) <= t(k, x, y, b) :- b <= a.
p(x, y, w) :- e(x, y, w).
q(1, 1.0).
"""


def search_of(rules: str) -> Search | None:
    plan = session.compile(session.parse(DECLS + rules), keep_all=True).plan
    (stratum,) = [s for s in plan.strata if s.recursive]
    return plan_stratum(stratum, {}).search


@pytest.mark.parametrize(
    ("rules", "pivot", "combine"),
    [
        ("p(x, z, a + w) :- p(x, y, a), e(y, z, w).", (0,), Combine.SUM),
        ("p(x, z, w + a) :- e(x, y, w), p(y, z, a).", (1,), Combine.SUM),
        ("p(x, z, c) :- p(x, y, a), e(y, z, w), c = a + w.", (0,), Combine.SUM),
        ("p(x, z, a + w + 1) :- p(x, y, a), e(y, z, w), !n(z), y != z.", (0,), Combine.SUM),
        ("p(x, z, max(a, w)) :- p(x, y, a), e(y, z, w).", (0,), Combine.GREATEST),
        ("p(x, z, a) :- p(x, y, a), e(y, z, _).", (0,), Combine.SUM),
        ("p(x, 7, a + w) :- p(x, y, a), e(y, _, w).", (0,), Combine.SUM),
        ("q(z, a * w) :- q(y, a), e(y, z, w).", (), Combine.PRODUCT),
        ("q(z, min(w, a)) :- q(y, a), e(y, z, w).", (), Combine.LEAST),
        ("q(z, max(0, a + w - 1)) :- q(y, a), e(y, z, w).", (), Combine.BOUNDED),
        (
            't("k", x, y, w) :- e(x, y, w). t(k, x, z, a + w) :- t(k, x, y, a), e(y, z, w).',
            (0, 1),
            Combine.SUM,
        ),
    ],
)
def test_a_linear_recursion_that_keeps_the_best_is_a_search(
    rules: str, pivot: tuple[int, ...], combine: Combine
) -> None:
    found = search_of(rules)
    assert found is not None
    assert (found.pivot, found.combine) == (pivot, combine)


@pytest.mark.parametrize(
    "rules",
    [
        "p(x, z, a + b) :- p(x, y, a), p(y, z, b).",
        "p(x, z, a + w) :- p(x, y, a), e(y, z, w), a < 10.",
        "p(x, z, a + w) :- p(x, y, a), e(y, z, w), x != z.",
        "p(x, z, a + a) :- p(x, y, a), e(y, z, _).",
        "p(x, z, w - a) :- p(x, y, a), e(y, z, w).",
        "p(x, z, a + w) :- p(x, y, a), e(y, y2, _), e(y2, z, w).",
        "p(y, x, a + 1) :- p(x, y, a).",
        "p(x, z, a + w) :- p(x, _, a), e(_, z, w).",
        "p(x, z, a + w) :- p(x, y, a), e(y, z, w). p(x, z, a * w) :- p(x, y, a), e(y, z, w).",
        "q(z + 1, a) :- q(y, a), e(y, z, _).",
    ],
)
def test_what_needs_more_than_the_state_is_no_search(rules: str) -> None:
    assert search_of(rules) is None
