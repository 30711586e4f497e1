"""Columns that a recursion carries along."""

from __future__ import annotations

import pytest

from whence import session
from whence.plan.pivot import pivot

DECLS = """
.decl e(x: number, y: number)
.decl p(x: number, y: number)
.decl q(x: number, y: number)
"""


@pytest.mark.parametrize(
    ("rules", "column"),
    [
        ("p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).", 0),
        ("p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z).", 1),
        ("p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).", None),
        ("p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z). p(y, x) :- p(x, y).", None),
        ("p(x, y) :- e(x, y). p(x, z) :- q(x, y), e(y, z). q(x, z) :- p(x, y), e(y, z).", 0),
        ("p(x, y) :- e(x, y). p(x, y) :- p(y, x).", None),
        ("p(x, y) :- e(x, y). p(1, z) :- p(1, y), e(y, z).", None),
    ],
)
def test_a_pivot_is_the_same_variable_in_head_and_premises(rules: str, column: int | None) -> None:
    # With all relations possible inputs nothing is rewritten into another form.
    plan = session.compile(session.parse(DECLS + rules), keep_all=True).plan
    (stratum,) = [s for s in plan.strata if s.recursive]
    assert pivot(stratum) == column


def test_what_is_not_recursive_has_no_pivot() -> None:
    plan = session.compile(session.parse(DECLS + "p(x, y) :- e(x, y)."), keep_all=True).plan
    assert {pivot(stratum) for stratum in plan.strata} == {None}
