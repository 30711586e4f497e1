"""Heads that multiply numbers give what the functors give."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from property.agreement import answers, resolved
from whence import session

TERMS = ("a + b + c", "a * b * c", "min(min(a, b), c)", "max(a, c)", "max(0, a + b - 1)")
DECLS = ".decl e(a: {k}, b: {k}, c: {k}) .decl p(x: {k}, y: {k})\n"
FLOATS = [0.0, -0.0, 0.5, -1.5, 1e308, float("inf"), float("-inf"), float("nan")]
NUMBERS = [0, -1, 3, (1 << 62), -(1 << 63)]


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize(("kind", "values"), [("float", FLOATS), ("number", NUMBERS)])
@pytest.mark.parametrize("more", [0, 3000])  # interpreted kernels, and compiled ones
def test_products_are_those_of_the_functors(
    term: str, kind: str, values: list[float], more: int
) -> None:
    rows = [(a, b, c) for a in values for b in values for c in values]
    rows += [(type(values[0])(i), values[2], values[0]) for i in range(more)]
    program = session.parse(DECLS.format(k=kind) + f"p(a, {term}) :- e(a, b, c).")
    columns = [list(column) for column in zip(*rows, strict=True)]
    table = pa.table(dict(zip("abc", columns, strict=True)))
    found = session.evaluate(program, {"e": table}).table("p")
    got = set(zip(*(map(bits, c.to_pylist()) for c in found.columns), strict=True))
    canonical = [tuple(v + 0 for v in row) for row in rows]
    expected = answers(resolved(program), {"e": set(canonical)})["p"]
    assert got == {tuple(map(bits, row)) for row in expected}


def bits(value: object) -> object:
    return struct.pack("<d", value) if isinstance(value, float) and value == value else repr(value)
