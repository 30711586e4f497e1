"""Rules whose heads tell their premises derive no tuple twice."""

from __future__ import annotations

import pytest

from whence import session
from whence.plan.distinct import derives_distinct

DECLS = """
.decl e(x: number, y: number)
.decl k(x: number, v: number)
.decl p(x: number, y: number, z: number)
.decl b(x: number, v: number)
"""
KEYS = {"k": (0,), "b": (0,)}


@pytest.mark.parametrize(
    ("rule", "distinct"),
    [
        ("p(x, y, z) :- e(x, y), e(y, z).", True),
        ("p(x, y, y) :- e(x, y), !e(y, x), x < y.", True),
        ("p(y, x, 1) :- e(x, y), e(x, 1).", True),
        ("p(x, z, 1) :- e(x, y), e(y, z).", False),
        ("p(x, x, x) :- e(x, _).", False),
        ("p(x, y + 0, x) :- e(x, y).", False),
        ("p(x, y, c) :- e(x, y), c = count : { e(_, x) }.", True),
        ("p(x, y, v) :- e(x, y), k(x, v).", True),
        ("p(x, y, 1) :- e(x, y), k(x, _).", True),
        ("p(x, y, v) :- e(x, y), k(_, v).", False),
        ("b(x, v) :- k(x, v).", True),
        ("b(1, v) :- k(v, _).", False),
        ("b(x, v) :- e(x, v).", False),
        ("p(1, 2, 3) :- 1 = 1.", False),
    ],
)
def test_a_rule_derives_distinct_tuples_when_its_head_tells_the_premises(
    rule: str, distinct: bool
) -> None:
    (parsed,) = session.parse(DECLS + rule).rules
    assert derives_distinct(parsed, KEYS) is distinct
